//! MPI in the terms of the MPI-5.0 standard ABI, over whichever libmpi is found at run time
