import Foundation
import Testing

@Suite("Unsafe code is confined")
struct UnsafeCodeTests {
    /// The modules in which the compiler requires the keyword `unsafe` for each unsafe operation.
    private static let strictModules = ["Core", "JSON", "HLS", "Overlay", "Timeline", "EdgeAuth"]

    /// The files that contain the keyword, except generated ones. The doc comment of a type states why it is safe.
    private static let files: Set<String> = [
        "Sources/PCastCodecs/Video/VideoFramePool.swift",
        "Sources/PCastCompatibility/Brightcove/BCOVPlaybackSessionBasicConsumer.swift",
        "Sources/PCastCore/Frames/VideoFrame.swift",
        "Sources/PCastCore/H264/AVCDecoderConfiguration.swift",
        "Sources/PCastCore/H264/H264NALUnit.swift",
        "Sources/PCastCore/Memory/MutableReference.swift",
        "Sources/PCastCore/Network/DatagramBatch.swift",
        "Sources/PCastCore/Network/DatagramMachine.swift",
        "Sources/PCastCore/TestSignal/TestPatternStrip.swift",
        "Sources/PCastBench/FanOut/LoadLoop.swift",
        "Sources/PCastPlayback/Controls/ControlledSurface.swift",
        "Sources/PCastPlayback/Overlay/FrameComposition.swift",
        "Sources/PCastPlayback/Overlay/OverlayNotificationHub.swift",
        "Sources/PCastWebRTC/DTLS/DatagramBIO.swift",
        "Sources/PCastWebRTC/Media/Prefetch.swift",
        "Sources/PCastWebRTC/SRTP/EVPCipherContext.swift",
        "Sources/PCastWebRTC/SRTP/SRTPCipher.swift",
    ]

    @Test("the keyword unsafe occurs in the named files only, which are at most 25")
    func named() {
        let found = Sources.files(below: "Sources")
            .filter { !$0.path.hasSuffix(".pb.swift") }
            .filter { Sources.code(of: $0.text).range(of: #"\bunsafe\b"#, options: .regularExpression) != nil }
            .map(\.path)
        #expect(Set(found).subtracting(Self.files).isEmpty, "these files are not named")
        #expect(Self.files.subtracting(found).isEmpty, "these files are named and have no unsafe code")
        #expect(Self.files.count <= 25)
    }

    @Test("the compiler checks memory safety strictly", arguments: strictModules)
    func strict(_ module: String) throws {
        let target = try #require(Sources.targets().first { $0.name == module })
        #expect(target.text.contains("settings: strictSettings"), "PCast\(module) has other settings")
    }
}
