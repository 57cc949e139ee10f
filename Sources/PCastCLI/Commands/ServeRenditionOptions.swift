import ArgumentParser
import Foundation
import PCastPlatform

/// The options of `pcast serve` for lower layers that the platform makes.
struct ServeRenditionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Streams with one layer of which lower layers are made while viewers need them. (default: requested)",
            discussion: """
                “requested” are those whose publisher's token has the capability “multi-bitrate”; the others are “all” and \
                “off”.
                """, valueName: "streams"))
    var renditions: RenditionStreamsArgument?

    @Option(
        help: ArgumentHelp(
            """
            Maximum number of processes that make lower layers, one for each stream; 0 makes none. (default: one for each \
            two processors)
            """, valueName: "count"))
    var maxRenditions: Int?

    @Option(
        help: ArgumentHelp(
            "Streams whose publishers are asked for H.264, too, while viewers do not decode their codec. (default: requested)",
            discussion: """
                “requested” are those whose publisher's token has the capability “second-codec”; the others are “all” and “off”.
                """, valueName: "streams"))
    var secondCodec: SecondCodecArgument?

    /// Returns the streams whose publishers are asked for a second codec; nil without a setting.
    func secondCodecStreams(_ settings: Settings) throws -> SecondCodecStreams? {
        try settings.value("second-codec", secondCodec)?.streams
    }

    func apply(_ settings: Settings, to configuration: inout RenditionConfiguration) throws {
        if let argument = try settings.value("renditions", renditions) { configuration.streams = argument.streams }
        if let count = try settings.value("max-renditions", maxRenditions) {
            guard (0...1_000).contains(count) else {
                throw CommandFailure(.unusableArguments, "--max-renditions \(count): the number must be 0 to 1000.")
            }
            configuration.maximumProcesses = count
        }
        configuration.program = Bundle.main.executablePath
        configuration.arguments = ["make-renditions"]
    }
}

/// The streams of which lower layers are made, by their name.
struct RenditionStreamsArgument: ExpressibleByArgument {
    let streams: RenditionConfiguration.Streams

    init?(argument: String) {
        guard let streams = RenditionConfiguration.Streams(rawValue: argument) else { return nil }
        self.streams = streams
    }

    static var allValueStrings: [String] { RenditionConfiguration.Streams.allCases.map(\.rawValue) }
}

/// The streams whose publishers are asked for a second codec, by their name.
struct SecondCodecArgument: ExpressibleByArgument {
    let streams: SecondCodecStreams

    init?(argument: String) {
        guard let streams = SecondCodecStreams(rawValue: argument) else { return nil }
        self.streams = streams
    }

    static var allValueStrings: [String] { SecondCodecStreams.allCases.map(\.rawValue) }
}
