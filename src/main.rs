//! Starts the program.
