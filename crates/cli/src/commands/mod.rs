pub mod accept;
pub mod build;
pub mod cc;
pub mod doctor;
pub mod export;
pub mod replay;
pub mod run;
pub mod trace;
