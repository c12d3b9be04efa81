//! *.csproj.

use super::Guess;
use super::folder::Folder;

pub(super) fn guess(folder: &Folder) -> Option<Guess> {
    let projects: Vec<_> = folder.with_extension("csproj").collect();
    let first = projects.first()?;
    let is_web = |text: String| text.contains("Microsoft.NET.Sdk.Web");
    let web = projects.iter().find(|path| folder.read(path).is_some_and(is_web));
    let Some(web) = web else {
        let reason = "its SDK is not Microsoft.NET.Sdk.Web";
        let guess = Guess::unknown(
            first.display().to_string(),
            reason,
            "exec dotnet prony-out/Shop.dll",
        );
        return Some(guess.with_toolchains(&["dotnet"]));
    };
    let name = web.file_stem().unwrap_or_default().to_string_lossy();
    let command = format!("ASPNETCORE_URLS=http://$HOST:$PORT exec dotnet prony-out/{name}.dll");
    let build = format!(
        "dotnet publish {} -c Release -o prony-out --nologo -v q",
        web.display()
    );
    let guess = Guess::run(web.display().to_string(), command);
    Some(guess.with_toolchains(&["dotnet"]).with_build(vec![build]))
}
