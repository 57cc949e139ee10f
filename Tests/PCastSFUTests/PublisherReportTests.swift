import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// The capture times that viewers receive if a publisher's sender reports are missing or unusual (RFC 3550, section
/// 6.4).
struct PublisherReportTests {
    /// The sender reports of a track, sent each half second.
    enum Manner: CaseIterable {
        case right, nothing, zero, sinceBoot, twoClocks, wrongTimestamps, goodbye, beyondTheEnd
    }

    private final class InMemoryHarness {
        let network: VirtualNetwork
        let publisher: ScriptedPeer
        private var videoFrames = ScriptedVideo(timestamp: 1_000)
        private var audioFrame: (sequence: UInt16, timestamp: UInt32) = (5, 7_000)
        private let began: Instant
        private let manner: Manner

        init(_ manner: Manner, shards: Int = 1) throws {
            self.manner = manner
            network = VirtualNetwork(shards: shards)
            publisher = try network.scriptPublisher(audio: true)
            began = network.now
            let publisher = publisher
            #expect(network.run { publisher.isConnected })
        }

        /// Sends video and audio for a number of spans of 20 ms. A frame and an audio packet that are sent together are
        /// synchronous.
        func play(_ count: Int) {
            for index in 0..<count {
                videoFrames.timestamp = 1_000 &+ ticks(90_000)
                videoFrames.say(isKeyFrame: index % 10 == 0, from: publisher)
                publisher.say(
                    .audio, sequence: audioFrame.sequence, timestamp: 7_000 &+ ticks(48_000), payload: [0x78, 1, 2])
                audioFrame.sequence &+= 1
                if index % 25 == 24 { report() }
                network.deliverAll(publisher)
                network.run(for: .milliseconds(20))
            }
        }

        private func ticks(_ rate: Int64) -> UInt32 {
            UInt32(truncatingIfNeeded: (network.now - began).nanoseconds * rate / 1_000_000_000)
        }

        private func report() {
            let wall = VirtualNetwork.clock.wallTime(at: network.now)
            let boot = WallTime(ntpTimestamp: 0) + (network.now - Instant(nanoseconds: 0)) + .seconds(100 as Int64)
            for (type, timestamp) in [
                (MediaType.video, 1_000 &+ ticks(90_000)), (.audio, 7_000 &+ ticks(48_000)),
            ] {
                let ssrc = publisher.media(type).localSSRC ?? 0
                func say(_ time: UInt64, _ timestamp: UInt32 = timestamp) {
                    publisher.report {
                        $0.senderReport(
                            SenderInformation(
                                ssrc: ssrc, ntpTimestamp: time, rtpTimestamp: timestamp, packetCount: 1, octetCount: 1))
                    }
                }
                switch manner {
                case .right: say(wall.ntpTimestamp)
                case .nothing: break
                case .zero: say(0)
                case .sinceBoot: say(boot.ntpTimestamp)
                case .twoClocks: say(type == .video ? wall.ntpTimestamp : boot.ntpTimestamp)
                case .wrongTimestamps: say(wall.ntpTimestamp, type == .video ? timestamp : 5)
                case .goodbye:
                    say(wall.ntpTimestamp)
                    publisher.report(plain: [0x81, 203, 0, 1] + withUnsafeBytes(of: ssrc.bigEndian) { Array($0) })
                case .beyondTheEnd:
                    publisher.report(plain: [0x80, 200, 0, 60] + withUnsafeBytes(of: ssrc.bigEndian) { Array($0) })
                }
            }
        }
    }

    /// Returns the sender reports of one track that a viewer has received.
    private static func reports(_ viewer: ScriptedPeer, _ type: MediaType) -> [SenderInformation] {
        guard let source = viewer.media(type).remoteSources.first else { return [] }
        return viewer.control.flatMap { compound in
            var reports: [SenderInformation] = []
            var reader = RTCPReader()
            while let packet = reader.next(in: compound.bytes.span) {
                if case .senderReport(let report, _) = packet, report.ssrc == source.ssrc { reports.append(report) }
            }
            return reports
        }
    }

    @Test("viewers receive synchronized sender reports of both tracks by the SFU's clock", arguments: Manner.allCases)
    func forwardsSenderReports(manner: Manner) throws {
        let stage = try InMemoryHarness(manner)
        stage.play(75)
        let viewer = try stage.network.scriptViewer()
        stage.play(250)
        try Self.expectSync(viewer, at: VirtualNetwork.clock.wallTime(at: stage.network.now))
    }

    @Test("viewers on another shard receive synchronized capture times", arguments: [.nothing, .zero] as [Manner])
    func captureTimesOnOtherShard(manner: Manner) throws {
        let stage = try InMemoryHarness(manner, shards: 2)
        stage.play(75)
        let viewer = try stage.network.viewBeside()
        stage.play(250)
        #expect(viewer.isConnected)
        let videoFrames = viewer.video.map(\.frame).suffix(50)
        let audioFrames = viewer.audio.suffix(50)
        #expect(videoFrames.count == 50 && audioFrames.count == 50)
        #expect(videoFrames.allSatisfy { $0.captureTime != nil } && audioFrames.allSatisfy { $0.captureTime != nil })
        // Frames that were sent together have the same capture time.
        let frame = try #require(videoFrames.last?.captureTime)
        let audioFrame = try #require(audioFrames.last?.captureTime)
        #expect(abs((frame - audioFrame).milliseconds) <= 25)
    }

    private static func expectSync(_ viewer: ScriptedPeer, at now: WallTime) throws {
        let (video, audio) = (reports(viewer, .video), reports(viewer, .audio))
        #expect(video.count >= 4 && audio.count >= 4, "\(video.count) and \(audio.count)")
        for report in video + audio {
            #expect(abs((WallTime(ntpTimestamp: report.ntpTimestamp) - now).milliseconds) < 10_000)
        }
        // Calculates the capture time of the last packet as a viewer does.
        func captured(_ type: MediaType, _ report: SenderInformation, _ rate: ClockRate) throws -> WallTime {
            let source = try #require(viewer.media(type).remoteSources.first)
            let packet = try #require(viewer.packets(source.ssrc).last)
            return CaptureClock(
                timestamp: report.rtpTimestamp, wallTime: WallTime(ntpTimestamp: report.ntpTimestamp), rate: rate
            ).wallTime(of: packet.header.timestamp)
        }
        let frame = try captured(.video, try #require(video.last), .video)
        let audioFrame = try captured(.audio, try #require(audio.last), .opus)
        #expect(abs((frame - audioFrame).milliseconds) <= 25, "\((frame - audioFrame).milliseconds) ms apart")
    }
}
