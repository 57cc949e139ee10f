import PCastCore
import PCastWebRTC
import Synchronization
import Testing

@testable import PCast

private func frame(_ number: Int64, key: Bool) -> PeerConnection.Media {
    .frame(
        EncodedFrame(
            codec: .h264, bytes: [0], isKeyFrame: key, timestamp: MediaTime(ticks: number, rate: .video),
            captureTime: nil), arrival: Instant(nanoseconds: number))
}

private final class Taken: Sendable {
    let ticks = Mutex<[Int64]>([])

    func take(_ media: PeerConnection.Media) {
        if case .frame(let frame, _) = media { ticks.withLock { $0.append(frame.timestamp.ticks) } }
    }

    var all: [Int64] { ticks.withLock { $0 } }
}

@Suite struct ReceivedMediaFeedTests {
    @Test("a late subscriber begins at the last key frame")
    func lateSubscriber() {
        let feed = ReceivedMediaFeed()
        feed.deliver(frame(1, key: true))
        feed.deliver(frame(2, key: false))
        feed.deliver(frame(3, key: true))
        feed.deliver(frame(4, key: false))
        let taken = Taken()
        let id = feed.add { taken.take($0) }
        feed.deliver(frame(5, key: false))
        feed.remove(id)
        feed.deliver(frame(6, key: false))
        #expect(taken.all == [3, 4, 5])
    }

    @Test("a backlog above the limit is dropped until the next key frame")
    func backlogLimit() {
        let feed = ReceivedMediaFeed()
        feed.deliver(frame(0, key: true))
        for number in 1...120 { feed.deliver(frame(Int64(number), key: false)) }
        let late = Taken()
        _ = feed.add { late.take($0) }
        #expect(late.all.isEmpty)
        feed.deliver(frame(41, key: true))
        let later = Taken()
        _ = feed.add { later.take($0) }
        #expect(later.all == [41])
    }
}
