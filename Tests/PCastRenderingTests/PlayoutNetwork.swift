import PCastCore
import PCastNetworkEmulation

/// The times at which video and audio are decoded after a bad network, in milliseconds. Video has 30 frames per second
/// of eight packets each. Audio has frames of 20 ms that the next two packets repeat. A lost packet is requested again
/// every round trip.
struct PlayoutNetwork {
    /// A decoded frame.
    struct Arrival {
        var media: MediaType
        var captured: Double
        var ready: Double
    }

    var roundTrip = 20.0
    var jitter = 0.0
    var loss = 0.0
    /// The mean number of packets that are lost together.
    var burst = 1.0
    /// The interval of the stalls. During a stall of the second length nothing arrives.
    var stallInterval = 0.0
    var stall = 0.0

    private static let encoding = 10.0
    private static let decoding = 4.0
    private static let packetCount = 8
    private static let frame = 1_000.0 / 30

    /// Returns the times at which the frames are ready.
    func arrivals(seconds: Double, seed: UInt64) -> [Arrival] {
        var numbers = SeededGenerator(seed: seed)
        let all = frames(seconds, &numbers) + audioFrames(seconds, &numbers)
        return all.sorted { $0.ready < $1.ready }
    }

    private func frames(_ seconds: Double, _ numbers: inout SeededGenerator) -> [Arrival] {
        var isBad = false
        var ready = 0.0
        return (0..<Int(seconds * 30)).map { index in
            let captured = Double(index) * Self.frame
            let next = arrival(captured + Self.frame + Self.encoding, &numbers)
            for packet in 0..<Self.packetCount {
                let here = arrival(captured + Self.encoding + Double(packet) * 0.7, &numbers)
                guard isLost(&isBad, &numbers) else {
                    ready = max(ready, here)
                    continue
                }
                // The next packet reveals a loss. After a frame's last packet that is the next frame's first one.
                let noticed = packet < Self.packetCount - 1 ? here + 1 : next
                ready = max(ready, repaired(noticed, &numbers))
            }
            return Arrival(media: .video, captured: captured, ready: ready + Self.decoding)
        }
    }

    private func audioFrames(_ seconds: Double, _ numbers: inout SeededGenerator) -> [Arrival] {
        var isBad = false
        let count = Int(seconds * 50)
        let lost = (0..<count + 2).map { _ in isLost(&isBad, &numbers) }
        var ready = 0.0
        return (0..<count).map { index in
            let captured = Double(index) * 20
            let sent = captured + 22
            if !lost[index] {
                ready = max(ready, arrival(sent, &numbers))
            } else if !lost[index + 1] || !lost[index + 2] {
                ready = max(ready, arrival(sent + (lost[index + 1] ? 40 : 20), &numbers))
            } else {
                ready = max(ready, repaired(arrival(sent + 20, &numbers), &numbers))
            }
            return Arrival(media: .audio, captured: captured, ready: ready + 0.5)
        }
    }

    private func arrival(_ sent: Double, _ numbers: inout SeededGenerator) -> Double {
        let here = sent + roundTrip / 2 + (jitter > 0 ? Double.random(in: 0...jitter, using: &numbers) : 0)
        guard stallInterval > 0 else { return here }
        let began = (here / stallInterval).rounded(.down) * stallInterval
        return began > 0 && here - began < stall ? began + stall : here
    }

    /// Returns whether a packet is lost in Gilbert's channel, in which losses come together.
    private func isLost(_ isBad: inout Bool, _ numbers: inout SeededGenerator) -> Bool {
        guard burst > 1 else { return numbers.happens(loss) }
        isBad = isBad ? !numbers.happens(1 / burst) : numbers.happens(loss / burst / (1 - loss))
        return isBad
    }

    private func repaired(_ noticed: Double, _ numbers: inout SeededGenerator) -> Double {
        var asked = noticed + min(jitter, 30)
        while true {
            let there = arrival(asked, &numbers)
            if !numbers.happens(loss) {
                let back = arrival(there, &numbers)
                if !numbers.happens(loss) { return back }
            }
            asked += roundTrip * 1.125 + 5
        }
    }
}
