//! The attribute of ranks-test
