import PCastCore
import PCastIO

/// Alternating measurements of the SFU and of its references, and their results.
struct FanOutMeasurement {
    let broadcast: Broadcast
    let seconds: Int
    let sample: Int

    private var platformRounds: [FanOutRound] = []
    private var janus: [FanOutRound] = []
    private var limits: [(cipher: LimitProgram.Cipher, round: FanOutRound)] = []

    init(_ broadcast: Broadcast, seconds: Int, sample: Int) {
        self.broadcast = broadcast
        self.seconds = seconds
        self.sample = sample
    }

    private var viewers: Int { broadcast.viewers }

    mutating func run(
        rounds: Int, limit: LimitProgram?, janus janusBroadcast: JanusBroadcast?, _ report: inout Report
    ) async throws {
        let ciphers = limit.map { program in LimitProgram.Cipher.allCases.filter { program.has($0) } } ?? []
        let sink = try limit.map { _ in
            let (viewers, sample) = (viewers, sample)
            return try LoadLoop(name: "sink") { LimitSink(viewers, port: $0, decryptsEach: sample) }
        }
        defer { sink?.stop() }
        for number in 1...rounds {
            let measurement = try await broadcast.measure(seconds: seconds).round
            platformRounds.append(measurement)
            report.row("\(number): relay", measurement.row, pass: !measurement.isVoid)
            guard limit != nil || janusBroadcast != nil else { continue }
            await broadcast.publishers.run(false)
            if let limit, let sink {
                for cipher in ciphers {
                    let measurement = try await measureLimit(limit, cipher, into: sink)
                    limits.append((cipher, measurement))
                    report.row("\(number): C, \(cipher.rawValue)", measurement.row, pass: !measurement.isVoid)
                }
            }
            if let janusBroadcast {
                let measurement = try await janusBroadcast.measure(seconds: seconds)
                janus.append(measurement)
                report.row("\(number): Janus", measurement.row, pass: !measurement.isVoid)
            }
            await broadcast.publishers.run()
            try await Task.sleep(for: .seconds(1))
        }
    }

    private func measureLimit(
        _ limit: LimitProgram, _ cipher: LimitProgram.Cipher, into sink: LoadLoop<LimitSink>
    ) async throws -> FanOutRound {
        let (viewers, sample, rate, port) = (viewers, sample, broadcast.profile.rate, sink.port)
        await sink.call { sink, _ in sink = LimitSink(viewers, port: port, decryptsEach: sample) }
        let (drops, ownTime, start, receivedBefore) = (
            sink.ownDrops, sink.processorTime, MonotonicClock.now(), sink.received
        )
        let metrics = try limit.run(
            cipher, viewers: viewers, port: port, rate: rate, frames: seconds * Int(rate))
        let elapsed = MonotonicClock.now() - start
        // The last packets have time to arrive.
        let deadline = MonotonicClock.now() + .seconds(20)
        var received = await sink.call { sink, _ in sink.metrics }
        while received.packets < metrics.packets, MonotonicClock.now() < deadline {
            try await Task.sleep(for: .milliseconds(20))
            received = await sink.call { sink, _ in sink.metrics }
        }
        // The last reports arrive after the program has ended. In a short measurement, these are many.
        guard metrics.fakeReports == 0, metrics.reports > received.reports / 2 else {
            throw BenchFailure(
                "C read \(metrics.reports) of \(received.reports) reports, \(metrics.fakeReports) not authentic")
        }
        return FanOutRound(
            processorTime: metrics.processorTime, packets: metrics.packets,
            missing: metrics.packets - received.packets + received.disorders, unauthentic: received.unauthentic,
            idle: 0,
            ownDrops: sink.ownDrops - drops, loadShare: (sink.processorTime - ownTime).seconds / elapsed.seconds,
            perMessage: FanOutRound.perMessage(receivedBefore, sink.received), elapsed: elapsed)
    }

    private func limit(_ cipher: LimitProgram.Cipher) -> Double? {
        FanOutRound.median(limits.filter { $0.cipher == cipher }.map(\.round))
    }

    var metrics: [(key: String, value: Double?)] {
        let all = LimitProgram.Cipher.allCases.compactMap { limit($0) }
        let own = FanOutRound.median(platformRounds)
        let rounds = platformRounds + limits.map(\.round) + janus
        return [
            ("viewers", Double(viewers)), ("relayPerPacket", own), ("evpPerPacket", limit(.evp)),
            ("ipsecPerPacket", limit(.ipsecMB)),
            ("ratioToEVP", limit(.evp).flatMap { limit in own.map { $0 / limit } }),
            ("ratioToC", all.min().flatMap { limit in own.map { $0 / limit } }),
            ("janusPerPacket", FanOutRound.median(janus)),
            ("ratioToJanus", FanOutRound.median(janus).flatMap { janus in own.map { janus / $0 } }),
            ("missing", Double(platformRounds.reduce(0) { $0 + $1.missing })),
            ("idle", Double(platformRounds.reduce(0) { $0 + $1.idle })),
            ("unauthentic", Double(platformRounds.reduce(0) { $0 + $1.unauthentic })),
            ("missingOfC", Double(limits.reduce(0) { $0 + $1.round.missing })),
            ("unauthenticOfC", Double(limits.reduce(0) { $0 + $1.round.unauthentic })),
            ("ownDrops", Double(rounds.reduce(0) { $0 + $1.ownDrops })),
            ("loadOfProcessor", rounds.map(\.loadShare).max()),
        ]
    }
}

/// The cost and the output of one measurement of the SFU or of a reference.
struct FanOutRound: Sendable {
    let processorTime: TimeSpan
    let packets: Int
    let missing: Int
    let unauthentic: Int
    /// The number of viewers without a frame.
    let idle: Int
    /// The datagrams that the load generator lost, and the fraction of its own CPU that it used. A measurement with
    /// lost datagrams or above 0.7 is void, because the load generator and not the SFU would be measured.
    let ownDrops: Int
    let loadShare: Double
    /// The number of datagrams per received message.
    let perMessage: Double
    let elapsed: TimeSpan

    var nanosecondsPerPacket: Double { Double(processorTime.nanoseconds) / Double(max(1, packets)) }
    var share: Double { processorTime.seconds / elapsed.seconds }

    var isVoid: Bool { loadShare > 0.7 || ownDrops > 0 }

    var row: [(key: String, value: Double?)] {
        [
            ("nsPerPacket", nanosecondsPerPacket), ("packets", Double(packets)), ("perMessage", perMessage),
            ("ofProcessor", share),
            ("missing", Double(missing)), ("unauthentic", Double(unauthentic)),
            ("idle", Double(idle)), ("ownDrops", Double(ownDrops)),
            ("loadOfProcessor", loadShare),
        ]
    }

    /// Returns the datagrams per message between two readings of `LoadLoop`.
    static func perMessage(_ before: (datagrams: Int, messages: Int), _ now: (datagrams: Int, messages: Int)) -> Double
    {
        Double(now.datagrams - before.datagrams) / Double(max(1, now.messages - before.messages))
    }

    /// Returns the median of several measurements, in nanoseconds per packet.
    static func median(_ rounds: [FanOutRound]) -> Double? {
        Percentile.of(rounds.map(\.nanosecondsPerPacket), 0.5)
    }
}
