//! Takes the viewer of `/api/docs`, Swagger UI, out of its archive.

use std::{
    env, fs,
    io::{self, Cursor, Read as _},
    path::PathBuf,
};

use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;

/// The folder of the viewer in its archive.
const FOLDER: &str = "swagger-ui-5.32.6/dist";
/// The files of the viewer.
const VIEWER: [&str; 2] = ["swagger-ui-bundle.js", "swagger-ui.css"];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let mut viewer = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED))?;
    for name in VIEWER {
        let gzip = gzip(&mut viewer, &format!("{FOLDER}/{name}"))?;
        fs::write(out.join(format!("{name}.gz")), gzip)?;
    }
    Ok(())
}

/// Returns a file of an archive, compressed with gzip. Both formats have the same compressed text (RFC 1951), so
/// it only gets another frame (RFC 1952).
fn gzip(archive: &mut ZipArchive<Cursor<&[u8]>>, path: &str) -> io::Result<Vec<u8>> {
    let mut file = archive.by_name_raw(path.as_bytes())?;
    let size = u32::try_from(file.size()).map_err(io::Error::other)?;
    let mut gzip = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    file.read_to_end(&mut gzip)?;
    gzip.extend(file.crc32().to_le_bytes());
    gzip.extend(size.to_le_bytes());
    Ok(gzip)
}
