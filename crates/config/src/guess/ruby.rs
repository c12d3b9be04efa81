//! Gemfile.

use super::Guess;
use super::folder::Folder;

pub(super) fn guess(folder: &Folder) -> Option<Guess> {
    const FILE: &str = "Gemfile";
    let gems = folder.read(FILE)? + &folder.read("Gemfile.lock").unwrap_or_default();
    let has = |gem: &str| {
        let named = [format!("\"{gem}\""), format!("'{gem}'"), format!(" {gem} (")];
        named.iter().any(|name| gems.contains(name))
    };
    let command = if has("rails") {
        Some("SECRET_KEY_BASE=measured RAILS_ENV=production exec bundle exec rails server -b $HOST -p $PORT")
    } else if has("puma") && folder.has("config.ru") {
        Some("RACK_ENV=production exec bundle exec puma -b tcp://$HOST:$PORT")
    } else if folder.has("config.ru") {
        Some("RACK_ENV=production exec bundle exec rackup -o $HOST -p $PORT")
    } else {
        None
    };
    let guess = match command {
        Some(command) => Guess::run(FILE, command),
        None => Guess::unknown(
            FILE,
            "there is no config.ru, and Rails is not in it",
            "exec bundle exec ruby app.rb -p $PORT",
        ),
    };
    let build = [
        "bundle config set --local path vendor/bundle",
        "bundle install --quiet",
    ];
    Some(guess.with_build(build.map(str::to_owned).to_vec()))
}
