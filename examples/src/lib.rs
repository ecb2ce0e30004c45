//! Programs people recognise.
