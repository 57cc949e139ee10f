import ArgumentParser

/// The options of all commands.
struct OutputOptions: ParsableArguments {
    @Flag(help: "One JSON object a line on standard output; everything for people on standard error.")
    var json = false
}
