import ArgumentParser

/// The options of commands that read the configuration file.
struct ConfigurationOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Configuration file. (default: ~/.config/pcast/pcast.conf)", valueName: "file"))
    var config: String?
}
