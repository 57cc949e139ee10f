import ArgumentParser
import Foundation
import PCastPlatform

/// The options of `pcast serve` for RTMP publishers.
struct ServeRTMPOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Port for RTMP publishers, such as 1935; 0 selects a free port. (default: none)",
            discussion: "Their address is rtmp://HOST/ingest, with a key of “pcast key create” or a token.",
            valueName: "port"))
    var rtmpPort: UInt16?

    @Option(
        help: ArgumentHelp(
            "Port for RTMP publishers with TLS, such as 1936; 0 selects a free port. (default: none)",
            valueName: "port"))
    var rtmpsPort: UInt16?

    @Flag(help: "Let an RTMP publisher replace another one with the same key, which is rejected otherwise.")
    var rtmpTakeover = false

    func apply(_ settings: Settings, to configuration: inout RTMPConfiguration) throws {
        configuration.port = try settings.value("rtmp-port", rtmpPort).map(Int.init)
        configuration.tlsPort = try settings.value("rtmps-port", rtmpsPort).map(Int.init)
        configuration.transcoder = Bundle.main.executablePath.map {
            AudioTranscodingConfiguration(program: $0, arguments: ["transcode-audio"])
        }
        configuration.takesOver = try settings.flag("rtmp-takeover", rtmpTakeover)
    }
}
