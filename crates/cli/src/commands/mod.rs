pub mod build;
pub mod cc;
pub mod doctor;
pub mod trace;
