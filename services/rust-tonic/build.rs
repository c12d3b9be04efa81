fn main() -> std::io::Result<()> {
    tonic_prost_build::configure()
        .build_client(false)
        // The people are read from JSON.
        .type_attribute(
            ".prony.person",
            "#[derive(serde::Deserialize)] #[serde(rename_all = \"camelCase\")]",
        )
        .compile_protos(&["person.proto", "stream.proto"], &["."])
}
