import ArgumentParser

/// The options of `pcast publish` for the encoder, besides ``EncodingOptions``.
struct PublishEncodingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Video encoder: automatic, software, or a name from “pcast devices --capabilities”. (default: automatic)",
            valueName: "encoder"))
    var encoder: String?

    @Option(
        help: ArgumentHelp(
            "Number of simulcast layers, 1 to 3, each half as wide and high as the next. (default: 1)",
            discussion: """
                Each viewer receives the best layer for its bandwidth. A layer without viewers is not encoded. With the \
                token's capability multi-bitrate-contribution, the default is 3.
                """, valueName: "count"))
    var layers: Int?

    @Flag(help: "Encode H.264 from the source again instead of publishing it unchanged.")
    var reencode = false
}
