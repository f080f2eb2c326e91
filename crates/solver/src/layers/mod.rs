pub(crate) mod embedded;
