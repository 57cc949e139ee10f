import ArgumentParser

/// The options for the properties and the duration of a published stream.
struct PublishedStreamOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Tag of the stream. Repeatable.", valueName: "tag"))
    var tag: [String] = []

    @Option(name: .customLong("for"), help: ArgumentHelp("Stop after this duration.", valueName: "duration"))
    var duration: DurationArgument?
}
