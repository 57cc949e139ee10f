import Foundation
import Testing

@Suite("Unsafe code is confined")
struct UnsafeCodeTests {
    /// The modules in which the compiler requires the keyword `unsafe` for each unsafe operation.
    private static let strictModules = [
        "Core", "JSON", "RTP", "WebRTC", "SFU", "HLS", "Packaging", "RTMP", "SRT", "Overlay", "Timeline", "EdgeAuth",
    ]

    /// The files that contain the keyword, except generated ones. The doc comment of a type states why it is safe.
    private static let files: Set<String> = [
        "Sources/PCastCodecs/Video/VideoFramePool.swift",
        "Sources/PCastCompatibility/Brightcove/BCOVPlaybackSessionBasicConsumer.swift",
        "Sources/PCastCore/Frames/VideoFrame.swift",
        "Sources/PCastCore/Memory/ByteView.swift",
        "Sources/PCastCore/Memory/MutableReference.swift",
        "Sources/PCastCore/Network/DatagramBatch.swift",
        "Sources/PCastBench/FanOut/LoadLoop.swift",
        "Sources/PCastPlayback/Controls/ControlledSurface.swift",
        "Sources/PCastPlayback/Overlay/FrameComposition.swift",
        "Sources/PCastPlayback/Overlay/OverlayNotificationHub.swift",
        "Sources/PCastRTP/Streams/PacketLog.swift",
        "Sources/PCastSFU/PublishedTrack.swift",
        "Sources/PCastSFU/Slab.swift",
        "Sources/PCastWebRTC/DTLS/DTLSCertificate.swift",
        "Sources/PCastWebRTC/DTLS/DTLSRecords.swift",
        "Sources/PCastWebRTC/DTLS/DatagramBIO.swift",
        "Sources/PCastWebRTC/DTLS/OpenSSLHandshake.swift",
        "Sources/PCastWebRTC/Media/MediaSender.swift",
        "Sources/PCastWebRTC/Media/Prefetch.swift",
        "Sources/PCastWebRTC/SRTP/EVPCipherContext.swift",
        "Sources/PCastWebRTC/SRTP/HMACSHA1.swift",
        "Sources/PCastWebRTC/SRTP/SRTPCipher.swift",
        "Sources/PCastWebRTC/SRTP/SRTPIPSecMBCipher.swift",
        "Sources/PCastWebRTC/SRTP/SRTPStreamTable.swift",
    ]

    @Test("the keyword unsafe occurs in the named files only, which are at most 25")
    func named() {
        var uses: [String: Int] = [:]
        for file in Sources.files(below: "Sources") where !file.path.hasSuffix(".pb.swift") {
            let count = Sources.code(of: file.text).matches(of: /\bunsafe\b/).count
            if count > 0 { uses[file.path] = count }
        }
        print("The keyword unsafe occurs \(uses.values.reduce(0, +)) times in \(uses.count) files.")
        #expect(Set(uses.keys).subtracting(Self.files).isEmpty, "these files are not named")
        #expect(Self.files.subtracting(uses.keys).isEmpty, "these files are named and have no unsafe code")
        #expect(Self.files.count <= 25)
    }

    @Test("each declaration that is marked safe states the reasons")
    func explained() {
        var count = 0
        for file in Sources.files(below: "Sources") {
            let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            for index in lines.indices where lines[index].hasPrefix("@safe") {
                count += 1
                let comment = lines[..<index].reversed().prefix { $0.hasPrefix("///") }
                #expect(comment.contains { $0.contains("`@safe`") }, "\(file.path):\(index + 1) states no reason")
            }
        }
        print("\(count) declarations are marked safe.")
        #expect(count > 0)
    }

    @Test("the compiler checks memory safety strictly", arguments: strictModules)
    func strict(_ module: String) throws {
        let target = try #require(Sources.targets().first { $0.name == module })
        #expect(target.text.contains("settings: strictSettings"), "PCast\(module) has other settings")
    }
}
