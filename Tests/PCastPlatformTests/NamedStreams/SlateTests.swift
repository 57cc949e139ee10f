import Foundation
import PCastCore
import PCastIO
import PCastSFU
import Testing

@testable import PCastPlatform

/// The slates of declared streams. The programs of these tests are the system's; `pcast make-slate` is tested with a
/// platform.
@Suite("Slates of named streams", .timeLimit(.minutes(5)))
struct SlateTests {
    private static let keyFrame: [UInt8] =
        [0, 0, 0, 1, 0x67, 0x42, 0xC0, 0x1F, 0xDA, 0x11, 0xE4, 0, 0, 0, 1, 0x68, 0xCE, 0x3C, 0x80]
        + [0, 0, 0, 1, 0x65, 0x88, 0x84, 1, 2, 3]
    private static let frame: [UInt8] = [0, 0, 0, 1, 0x41, 0x9A, 1, 2, 3, 4]

    private static func message(_ bytes: [UInt8], isKeyFrame: Bool) -> [UInt8] {
        RenditionMessage.frame(
            .init(
                layer: 0, isKeyFrame: isKeyFrame, timestamp: 0, captureTime: WallTime(nanosecondsSinceEpoch: 0),
                bytes: bytes)
        ).encoded
    }

    private static var output: [UInt8] {
        message(keyFrame, isKeyFrame: true) + message(frame, isKeyFrame: false) + message(frame, isKeyFrame: false)
    }

    /// Returns the configuration of a shell command, which receives the options of the slate as its arguments.
    private static func shell(_ command: String) -> SlateConfiguration {
        SlateConfiguration(program: "/bin/sh", arguments: ["-c", command, "slate"])
    }

    private static let last = LastFrames(
        codec: .h264,
        frames: [
            EncodedFrame(
                codec: .h264, bytes: keyFrame, isKeyFrame: true, timestamp: MediaTime(ticks: 0, rate: .video),
                captureTime: nil)
        ], dimensions: Dimensions(width: 64, height: 48))

    @Test("only frames that begin with a key frame are a slate")
    func messages() {
        let key = Self.message(Self.keyFrame, isKeyFrame: true)
        let further = Self.message(Self.frame, isKeyFrame: false)
        #expect(SlateService.slate(Self.output, codec: .h264)?.frames.map(\.isKeyFrame) == [true, false, false])
        #expect(SlateService.slate([], codec: .h264) == nil)
        #expect(SlateService.slate(further + key, codec: .h264) == nil)
        #expect(SlateService.slate(key + further.dropLast(), codec: .h264) == nil)
        #expect(SlateService.slate(key + RenditionMessage.keyFrames(1).encoded, codec: .h264) == nil)
        #expect(SlateService.slate(key + [0, 0, 0, 1, 99], codec: .h264) == nil)
        let most = Array(repeating: key, count: SlateService.frameCount).flatMap(\.self)
        #expect(SlateService.slate(most, codec: .h264)?.frames.count == SlateService.frameCount)
        #expect(SlateService.slate(most + key, codec: .h264) == nil)
    }

    @Test("the program receives the frames of the stream, and a program that fails makes no slate")
    func program() async throws {
        // The first message, of six bytes, has the codec. The frames are returned.
        let echo = SlateService(Self.shell("tail -c +7"), timeout: .seconds(600))
        let slate = try await echo.slate("Back soon", over: Self.last)
        #expect(slate.frames.map(\.bytes) == [Self.keyFrame])
        for command in ["cat; exit 1", "cat", "cat >/dev/null", "exit 1"] {
            let service = SlateService(Self.shell(command), timeout: .seconds(600))
            let error = await #expect(throws: APIError.self) {
                _ = try await service.slate("Back soon", over: Self.last)
            }
            #expect(error?.kind == .failed, "\(command)")
        }
    }

    @Test("a slate is played in a loop with silence, at the times of its frames")
    func player() throws {
        let slate = try #require(SlateService.slate(Self.output, codec: .h264))
        let began = WallTime(millisecondsSinceEpoch: 1_000_000)
        var player = SlatePlayer(slate, hasAudio: true, from: began)
        #expect(player.poll(at: .zero).map(\.frame.codec) == [.h264, .opus])
        #expect(player.poll(at: .milliseconds(10)).isEmpty)
        var frames: [EncodedFrame] = []
        for step in 1...100 { frames += player.poll(at: .milliseconds(Int64(step) * 20)).map(\.frame) }
        let video = frames.filter { $0.codec == .h264 }
        let audio = frames.filter { $0.codec == .opus }
        #expect(video.map(\.isKeyFrame) == (1...20).map { $0 % 3 == 0 })
        #expect(video.map(\.timestamp.ticks) == (1...20).map { $0 * 9_000 })
        #expect(video.map(\.captureTime) == (1...20).map { began + .milliseconds($0 * 100) })
        #expect(audio.map(\.timestamp.ticks) == (1...100).map { $0 * 960 })
        #expect(audio.allSatisfy { $0.bytes == SlatePlayer.silence })
    }

    @Test("after a long delay, a slate continues with its key frame, and times never return")
    func delayedPlayer() throws {
        let slate = try #require(SlateService.slate(Self.output, codec: .h264))
        var player = SlatePlayer(slate, hasAudio: false, from: WallTime(millisecondsSinceEpoch: 0))
        #expect(player.poll(at: .milliseconds(400)).count == 5, "a short delay is caught up")
        #expect(player.poll(at: .seconds(60)).isEmpty)
        let next = player.poll(at: .milliseconds(60_100)).map(\.frame)
        #expect(next.map(\.isKeyFrame) == [true])
        #expect(next.map(\.timestamp.ticks) == [60_100 * 90])
        #expect(player.poll(at: .milliseconds(60_200)).map(\.frame.isKeyFrame) == [false])
    }

    // MARK: With a platform

    private struct List: Decodable {
        struct Name: Decodable {
            struct Publisher: Decodable { let role: String }
            struct Switch: Decodable { let reason: String }

            let state: String
            let streamId: String?
            let publishers: [Publisher]
            let lastSwitch: Switch?
        }

        let names: [Name]
    }

    private func name(_ platform: TestPlatform) async throws -> List.Name? {
        let body = try await platform.ask("GET", "/pcast/names").body
        return try JSONDecoder().decode(List.self, from: Data(body.utf8)).names.first
    }

    /// Publishes frames of H.264 until the connection is closed.
    private func publish(to port: Int) async throws -> RTMPEncoder {
        let key = try Tokens.make { $0.forPublishingOnly().applyTag("name:show") }
        let encoder = try await RTMPEncoder.publish(key, to: port)
        #expect(try await encoder.receives("NetStream.Publish.Start"))
        try await encoder.sendConfiguration()
        Task {
            var time: UInt32 = 0
            while !encoder.isClosed {
                try await encoder.sendFrame(isKeyFrame: time % 1_000 == 0, timestamp: time)
                time += 50
                try await ContinuousClock().sleep(for: .milliseconds(50))
            }
        }
        return encoder
    }

    @Test("viewers of a name receive a slate while it has no publisher, and a slate is made for each gap")
    func gaps() async throws {
        try await withTemporaryDirectory { directory in
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            let (output, log) = ("\(directory)/output", "\(directory)/log")
            try Data(Self.output).write(to: URL(fileURLWithPath: output))
            var declaration = StreamDeclaration(name: "show")
            declaration.slate = "Back at 8 o'clock"
            let declared = try StreamDeclarations([declaration])
            try await TestPlatform.runConfigured { configuration in
                configuration.rtmp.port = 0
                configuration.streams = declared
                configuration.slates = Self.shell("cat >/dev/null; echo \"$@\" >>'\(log)'; cat '\(output)'")
            } _: { platform in
                let port = try #require(platform.listening.rtmp.port)
                let viewer = try FramePeer.viewer()
                var stream: String?
                for gap in 1...2 {
                    let encoder = try await publish(to: port)
                    #expect(try await eventually { try await name(platform)?.state == "live" })
                    if gap == 1 { _ = try await viewer.view("show", at: platform) }
                    #expect(try await eventually { viewer.isConnected })
                    if stream == nil { stream = try await name(platform)?.streamId }
                    // The slate of the gap before has ended.
                    #expect(try await eventually { try await name(platform)?.publishers.map(\.role) == ["publisher"] })
                    try await encoder.close()
                    #expect(try await eventually { try await name(platform)?.state == "fallback" })
                    #expect(try await name(platform)?.lastSwitch?.reason == "fallback")
                    // The peer counts all frames that are not VP8 together.
                    let count = viewer.audioCount
                    #expect(try await eventually { viewer.audioCount > count + 10 })
                    #expect(try await name(platform)?.streamId == stream)
                    let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
                    #expect(lines.count >= gap)
                    #expect(
                        lines.last == "--text=Back at 8 o'clock --width=64 --height=48 --rate=10 --frames=20",
                        "\(lines)"
                    )
                }
            }
        }
    }

    @Test("a slate does not use the place with which the publisher returns")
    func limit() async throws {
        try await withTemporaryDirectory { directory in
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            let output = "\(directory)/output"
            try Data(Self.output).write(to: URL(fileURLWithPath: output))
            let declared = try StreamDeclarations([StreamDeclaration(name: "show")])
            try await TestPlatform.runConfigured { configuration in
                configuration.rtmp.port = 0
                configuration.streams = declared
                configuration.slates = Self.shell("cat >/dev/null; cat '\(output)'")
                // The places of the name and of its publisher.
                configuration.limits[.streams] = 2
            } _: { platform in
                let port = try #require(platform.listening.rtmp.port)
                let viewer = try FramePeer.viewer()
                let encoder = try await publish(to: port)
                #expect(try await eventually { try await name(platform)?.state == "live" })
                _ = try await viewer.view("show", at: platform)
                #expect(try await eventually { viewer.isConnected })
                try await encoder.close()
                #expect(try await eventually { try await name(platform)?.state == "fallback" })
                let key = try Tokens.make { $0.forPublishingOnly().applyTag("name:show") }
                // The place of the former publisher is free a moment after it is not listed any more.
                #expect(try await eventually { try await RTMPEncoder.publish(key, to: port).isAccepted() })
            }
        }
    }
}
