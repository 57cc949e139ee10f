import ArgumentParser

/// The options of commands that read the configuration file.
struct ConfigurationOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The configuration file, instead of ~/.config/pcast/pcast.conf.", valueName: "file"))
    var config: String?
}
