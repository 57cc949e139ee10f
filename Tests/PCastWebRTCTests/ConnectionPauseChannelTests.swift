import PCastCore
import PCastRTP
import PCastTestSupport
import Testing

@testable import PCastWebRTC

/// Both ends of a stream that is paused and resumed, and an unreliable network between them.
struct ConnectionPauseChannelTests {
    /// A channel that runs in steps of a millisecond.
    private struct Channel {
        private enum Cargo {
            case packet(UInt16)
            case request(PauseResume.Message)
            case indication(PauseResume.Message)
        }

        private(set) var request = PauseRequest()
        private(set) var state = PauseState(type: .video, ssrc: 7, holdsOff: false)
        private(set) var requests = 0
        private var flying: [(arrival: Int64, cargo: Cargo)] = []
        private var time: Int64 = 0
        private var sent: UInt32 = 65_000
        private var generator: SeededGenerator
        /// The probability of loss in percent.
        var loss = 0
        var duplication = 0
        /// The maximum of the random addition to the ten milliseconds of each direction. It reorders packets.
        var jitter: Int64 = 0

        init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

        private var now: Instant { Instant(nanoseconds: 1_000_000_000) + .milliseconds(time) }

        mutating func setDemanded(_ isWanted: Bool) { request.setDemanded(isWanted, at: now) }

        mutating func happens(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }

        private mutating func send(_ cargo: Cargo) {
            if happens(loss) { return }
            for _ in 0..<(happens(duplication) ? 2 : 1) {
                flying.append((time + 10 + (jitter > 0 ? Int64.random(in: 0...jitter, using: &generator) : 0), cargo))
            }
        }

        mutating func run(_ milliseconds: Int) {
            for _ in 0..<milliseconds {
                time += 1
                if time % 20 == 0, !state.isPaused {
                    sent += 1
                    send(.packet(UInt16(truncatingIfNeeded: sent)))
                }
                let hasReport = time % 1000 == 0
                while let message = state.poll(lastSequenceNumber: sent, hasReport: hasReport, at: now) {
                    send(.indication(message))
                }
                if let message = request.poll(ssrc: 7, roundTrip: .milliseconds(20 + jitter), at: now) {
                    requests += 1
                    send(.request(message))
                }
                deliver()
            }
        }

        private var newest: UInt16?

        private mutating func deliver() {
            let arrived = flying.filter { $0.arrival <= time }
            flying.removeAll { $0.arrival <= time }
            for (_, cargo) in arrived {
                switch cargo {
                case .packet(let number):
                    request.packetReceived(sequenceNumber: number, at: now)
                    if newest.map({ Int16(bitPattern: number &- $0) > 0 }) ?? true { newest = number }
                case .request(let message):
                    state.receive(message, from: 9, roundTrip: .milliseconds(20), at: now)
                case .indication(let message):
                    request.messageReceived(message, newest: newest, at: now)
                }
            }
        }

        /// Whether both ends have the same state and no pending request.
        var isSettled: Bool {
            state.isPaused != request.isWanted && request.isPaused == state.isPaused && request.deadline == nil
        }
    }

    @Test("after loss, duplication and reordering, both ends agree soon after the network recovers", arguments: 1...200)
    func agrees(seed: Int) {
        var channel = Channel(seed: UInt64(seed))
        channel.run(100)
        for round in 0..<10 {
            channel.loss = seed % 4 * 20
            channel.duplication = seed % 3 * 20
            channel.jitter = Int64(seed % 5 * 20)
            for _ in 0...(seed + round) % 5 {
                channel.setDemanded(channel.happens(50))
                channel.run(channel.happens(30) ? 2100 + (channel.happens(50) ? 37 : 400) : 90)
            }
            channel.loss = 0
            channel.duplication = 0
            channel.jitter = 0
            // The timeout, a second until the next report of a pause, and the time of a request.
            channel.run(3300)
            #expect(channel.isSettled, "seed \(seed), round \(round), wanted: \(channel.request.isWanted)")
            let requests = channel.requests
            channel.run(2000)
            #expect(channel.requests == requests && channel.isSettled)
        }
    }
}
