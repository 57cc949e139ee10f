import ArgumentParser

/// The options of `pcast serve` for applications.
struct ServeApplicationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Application whose tokens are accepted. Repeatable. (default: a generated one)", valueName: "id:secret"))
    var application: [ApplicationArgument] = []
}
