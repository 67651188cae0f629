//! What callers are told of an error of the blog.

use tributary_functions::http::ApiError;

use crate::blog::stores::BlogError;

impl From<BlogError> for ApiError {
    fn from(error: BlogError) -> Self {
        match error {
            BlogError::NoUser => Self::NotFound("user"),
            BlogError::NoPost => Self::NotFound("post"),
            BlogError::NameTaken => {
                Self::Conflict("Another user has this username. Choose another one.")
            }
            BlogError::Store(error) => error.into(),
        }
    }
}
