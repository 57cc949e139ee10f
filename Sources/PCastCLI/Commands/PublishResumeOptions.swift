import ArgumentParser

/// The option of `pcast publish` for resuming a stream.
struct PublishResumeOptions: ParsableArguments {
    @Flag(help: "Resume the stream of a disconnected publisher with an equivalent token and the same tags.")
    var resume = false
}
