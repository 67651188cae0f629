//! A world whose clock moves.
