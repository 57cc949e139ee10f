import ArgumentParser
import Foundation
import PCastCore
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

/// The options of `pcast serve` for SRT publishers and viewers.
struct ServeSRTOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Port for SRT publishers and viewers, such as 9710; 0 selects a free port. (default: none)",
            discussion: """
                The stream ID of a publisher is a key of “pcast key create” or a token, and that of a viewer \
                #!::m=request,r=STREAM,s=TOKEN.
                """, valueName: "port"))
    var srtPort: UInt16?

    @Option(
        help: ArgumentHelp(
            "Time in which lost packets of SRT can be retransmitted. (default: 120ms)", valueName: "duration"))
    var srtLatency: DurationArgument?

    @Option(help: ArgumentHelp("Audio of SRT viewers: aac or opus. (default: aac)", valueName: "codec"))
    var srtAudio: String?

    @Option(
        help: ArgumentHelp(
            "Passphrase of 10 to 79 characters that encrypts SRT. (default: no encryption)", valueName: "text"))
    var srtPassphrase: String?

    /// The longest latency, for which a publisher with 20 Mbit/s needs 20 MB.
    private static let longestLatency = Duration.seconds(8)

    func apply(_ settings: Settings, to configuration: inout SRTConfiguration) throws {
        configuration.port = try settings.value("srt-port", srtPort).map(Int.init)
        if let latency = try settings.value("srt-latency", srtLatency)?.span.duration {
            guard latency <= Self.longestLatency else {
                throw CommandFailure(.unusableArguments, "--srt-latency \(latency): use at most 8s.")
            }
            configuration.latency = latency
        }
        if let name = try settings.value("srt-audio", srtAudio) {
            guard let audio = SRTConfiguration.ViewerAudio(rawValue: name) else {
                throw CommandFailure(.unusableArguments, "--srt-audio \(name): use aac or opus.")
            }
            configuration.viewerAudio = audio
        }
        configuration.passphrase = try settings.value("srt-passphrase", srtPassphrase)
        guard let passphrase = configuration.passphrase else { return }
        guard SRTConfiguration.passphraseSizes.contains(passphrase.utf8.count) else {
            throw CommandFailure(
                .unusableArguments,
                "--srt-passphrase: a passphrase has 10 to 79 characters, and this one has \(passphrase.utf8.count).")
        }
    }
}
