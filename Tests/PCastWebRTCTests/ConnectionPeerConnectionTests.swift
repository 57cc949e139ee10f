import PCastCore
import PCastTestSupport
import Testing

@testable import PCastWebRTC

/// A call before its answer. Tests with the SFU cover the rest.
struct ConnectionPeerConnectionTests {
    private let now = Instant(nanoseconds: 1_000_000_000)

    private func connection(_ purpose: PeerConnection.Purpose) -> PeerConnection {
        var generator = SeededGenerator(seed: 1)
        return PeerConnection(
            purpose,
            configuration: PeerConnection.Configuration(
                certificate: DTLSTestCertificates.client, addresses: [TransportAddress("10.0.0.1:5000")!],
                clock: WallClockReference(instant: now, wallTime: DTLSTestCertificates.wallTime), cname: "c"),
            using: &generator)
    }

    @Test("before the answer nothing is sent, and no time has an effect")
    func beforeTheAnswer() {
        var connection = connection(.publish(video: .h264, audio: true))
        let path = NetworkPath(local: TransportAddress("10.0.0.1:5000")!, remote: TransportAddress("10.0.0.2:1")!)
        for first in UInt8.min...UInt8.max {
            var datagram = [UInt8](repeating: first, count: 60)
            datagram.withMutableByteView { connection.handle($0, from: path, at: now) }
        }
        connection.send(
            EncodedFrame(
                codec: .h264, bytes: [0, 0, 0, 1, 0x65, 1], isKeyFrame: true,
                timestamp: MediaTime(ticks: 0, rate: .video), captureTime: nil), at: now)
        connection.advance(to: now + .seconds(60 as Int64))
        var batch = DatagramBatch()
        let isFull = connection.poll(into: &batch, at: now + .seconds(60 as Int64))
        let isEmpty = batch.isEmpty
        let deadline = connection.deadline
        let event = connection.pollEvent()
        #expect(!isFull && isEmpty && deadline == nil && event == nil)
        connection.close(at: now)
    }

    @Test("an answer without credentials or with other sections than the offer is rejected")
    func wrongAnswer() {
        var publishing = connection(.publish(video: .h264, audio: true))
        let other = connection(.view(video: true, audio: false))
        let otherSections = refusal(&publishing, other.offer)
        #expect(otherSections != nil)
        var answer = publishing.offer
        for index in answer.media.indices { answer.media[index].iceUfrag = nil }
        let noCredentials = refusal(&publishing, answer)
        #expect(noCredentials != nil)
    }

    private func refusal(_ connection: inout PeerConnection, _ answer: SessionDescription) -> SDPError? {
        do throws(SDPError) {
            try connection.accept(answer, at: now)
            return nil
        } catch {
            return error
        }
    }

    @Test("a publisher offers the single codec that it encodes; a viewer all that it decodes")
    func offers() {
        let publishing = connection(.publish(video: .vp8, audio: false)).offer
        #expect(publishing.media.map(\.direction) == [.sendOnly])
        #expect(publishing.media[0].payloadFormats.map(\.codec) == [.vp8])
        let viewing = connection(.view(video: true, audio: true)).offer
        #expect(viewing.media.map(\.direction) == [.receiveOnly, .receiveOnly])
        #expect(viewing.media[0].payloadFormats.map(\.codec) == [.h264, .vp8, .vp9, .av1, .h265])
        #expect(viewing.media[1].payloadFormats.map(\.codec) == [.opus])
        // The platform becomes the DTLS client of a viewer, and sends media early.
        #expect(viewing.media.allSatisfy { $0.setup == .passive } && publishing.media[0].setup == .actpass)
    }
}

struct ConnectionCaptureClockTests {
    @Test("timestamps on both sides of the wrap at 2^32 are related by the shorter distance")
    func wrap() {
        let time = WallTime(millisecondsSinceEpoch: 1_790_000_000_000)
        let clock = CaptureClock(timestamp: 0 &- 45_000, wallTime: time, rate: .video)
        #expect(clock.wallTime(of: 0 &- 45_000) == time)
        #expect(clock.wallTime(of: 45_000) == time + .seconds(1 as Int64))
        #expect(clock.wallTime(of: 0 &- 135_000) == time - .seconds(1 as Int64))
    }

    @Test("audio has 48,000 ticks per second")
    func audio() {
        let time = WallTime(millisecondsSinceEpoch: 1000)
        let clock = CaptureClock(timestamp: 0, wallTime: time, rate: .opus)
        #expect(clock.wallTime(of: 960) == time + .milliseconds(20))
    }
}
