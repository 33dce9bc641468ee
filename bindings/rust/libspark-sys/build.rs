// SPDX-License-Identifier: Apache-2.0
//! Finds an installed libspark through pkg-config, and hands its header's folder on (DEP_SPARK_INCLUDE).

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Pages are built where there is no library, and link nothing.
    if std::env::var_os("DOCS_RS").is_some() {
        return;
    }
    // Before 1.0 a minor release may break the ABI, so the range ends with the next one.
    match pkg_config::Config::new().range_version("0.1.0".."0.2.0").probe("libspark") {
        Ok(library) => {
            if let Some(folder) = library.include_paths.first() {
                println!("cargo:include={}", folder.display());
            }
        }
        Err(error) => {
            eprintln!("libspark is not found by pkg-config; install it, or set PKG_CONFIG_PATH to the folder of its");
            eprintln!("libspark.pc (PREFIX/lib/pkgconfig or PREFIX/lib/MACHINE/pkgconfig).\n{error}");
            std::process::exit(1);
        }
    }
}
