//! Finds MPI libraries and their launchers, tells where a process runs, starts jobs
