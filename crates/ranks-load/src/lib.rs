//! Opens native libraries at run time: candidates in order, every reason kept, symbols
