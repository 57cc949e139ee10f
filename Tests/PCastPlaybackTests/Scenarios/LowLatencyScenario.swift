import PCastCore
import PCastIO
import Testing

@testable import PCastPlayback

extension RealTimePlayback {
    /// A live program by parts (RFC 8216bis) that is created in real time: each part exists after its last frame.
    @Suite("A live program with low latency", .enabled(if: Program.hasFFmpeg))
    struct LowLatencyScenario {
        private static let partSeconds = 0.25
        private static let partsPerSegment = 8
        /// The number of parts at the start of the test.
        private static let head = 12
        private let film = StampedVideo(seconds: 90, rate: 20)
        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
            try Program.runFFmpeg(
                "\(try film.inputs(in: folder)) -c:v libx264 -preset ultrafast -bf 0 -g 5 -keyint_min 5 -sc_threshold 0 "
                    + "-c:a aac -shortest -f hls -hls_time 0.25 -hls_list_size 0 -hls_segment_type fmp4 "
                    + "-hls_fmp4_init_filename init.mp4 -hls_segment_filename p%d.m4s all.m3u8", in: folder.path)
        }

        /// Returns the number of existing parts.
        private static func count(since began: Instant) -> Int {
            head + Int((MonotonicClock.now() - began).seconds / partSeconds)
        }

        /// Waits on a server thread until a part exists.
        private static func wait(for part: Int, since began: Instant) {
            let signal = WakeSignal()
            let due = began + TimeSpan(seconds: Double(part + 1 - head) * partSeconds) + .milliseconds(1)
            while MonotonicClock.now() < due { signal.wait(until: due) }
        }

        /// Returns the playlist with a number of parts. `captured` is the time of capture of the first frame.
        private static func playlist(_ count: Int, captured: WallTime) -> String {
            var text =
                "#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-TARGETDURATION:2\n#EXT-X-PART-INF:PART-TARGET=\(partSeconds)\n"
                + "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=\(partSeconds * 3)\n"
                + "#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-MAP:URI=\"init.mp4\"\n"
            for part in 0..<count {
                if part % partsPerSegment == 0 {
                    let date = Timestamp.text(captured + TimeSpan(seconds: Double(part) * partSeconds))
                    text += "#EXT-X-PROGRAM-DATE-TIME:\(date)\n"
                }
                text += "#EXT-X-PART:DURATION=\(partSeconds),URI=\"p\(part).m4s\",INDEPENDENT=YES\n"
                if part % partsPerSegment == partsPerSegment - 1 {
                    text += "#EXTINF:2,\ns\(part / partsPerSegment).m4s\n"
                }
            }
            return text + "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"p\(count).m4s\"\n"
        }

        /// Creates a server of the live playlist and its parts.
        ///
        /// - Parameters:
        ///   - began: The time at which the stream began.
        ///   - outage: The time until which nothing is answered; nil for no outage.
        ///   - edge: Receives the number of parts in the first playlist.
        ///   - captured: The time of capture of the first frame.
        /// - Returns: The server.
        /// - Throws: An error if the server cannot listen.
        private func origin(
            _ began: Instant, outage: Exclusive<Instant?> = Exclusive(nil), edge: Exclusive<Int?> = Exclusive(nil),
            captured: WallTime = StampedVideo.captureTime
        ) throws -> TestOrigin {
            let folder = folder
            return try TestOrigin { request in
                let signal = WakeSignal()
                while let end = outage.change({ $0 }), MonotonicClock.now() < end { signal.wait(until: end) }
                switch request.path {
                case "/live.m3u8":
                    if let number = request.query["_HLS_msn"].flatMap(Int.init) {
                        let part = request.query["_HLS_part"].flatMap(Int.init) ?? Self.partsPerSegment - 1
                        Self.wait(for: number * Self.partsPerSegment + part, since: began)
                    }
                    let count = Self.count(since: began)
                    edge.change { $0 = $0 ?? count }
                    return .text(Self.playlist(count, captured: captured))
                case let path where path.hasPrefix("/p"):
                    guard let part = Int(path.dropFirst(2).dropLast(4)) else { return nil }
                    Self.wait(for: part, since: began)
                    return (try? folder.read(String(path.dropFirst()))).map { .init(body: $0) }
                case let path where path.hasPrefix("/s"):
                    guard let number = Int(path.dropFirst(2).dropLast(4)) else { return nil }
                    let parts = (0..<Self.partsPerSegment).compactMap {
                        try? folder.read("p\(number * Self.partsPerSegment + $0).m4s")
                    }
                    return .init(body: Array(parts.joined()))
                default: return (try? folder.read(String(request.path.dropFirst()))).map { .init(body: $0) }
                }
            }
        }

        @Test(
            "it is joined in the middle of a segment, at the server's hold-back from the edge, and nothing before is loaded",
            .timeLimit(.minutes(5)))
        func latency() async throws {
            let began = MonotonicClock.now()
            let edge = Exclusive<Int?>(nil)
            let origin = try origin(began, edge: edge)
            defer { origin.stop() }
            let scenario = PlaybackScenario(rate: film.rate)
            let asking = MonotonicClock.now()
            scenario.player.set(video: Video(origin.uri("/live.m3u8")), play: true)
            try await scenario.wait(for: "+ ready")
            let first = scenario.stamp
            try await scenario.wait { scenario.stamp >= first + 4 * film.rate }
            scenario.player.pause()
            // The age of each frame is relative to the program's edge at that time.
            let ages = scenario.sights.map { sight in
                Double(Self.head) * Self.partSeconds + (sight.instant - began).seconds
                    - Double(sight.stamp) / Double(film.rate)
            }
            let opening = try #require(scenario.sights.first).instant - asking
            print("low latency: first frame after \(opening), \(ages[ages.count / 2]) s old in the middle of it")
            // The first playlist ended with this part. A hold-back of three parts is from there, and a part begins before it.
            let joined = try #require(edge.change { $0 }) - 3 - 1
            #expect(try #require(scenario.sights.first).stamp >= joined * film.rate / 4, "\(joined)")
            // Parts before the position at which playback joined were not requested.
            let asked = origin.requests.compactMap { $0.hasPrefix("/p") ? Int($0.dropFirst(2).dropLast(4)) : nil }
            #expect(!asked.isEmpty && asked.allSatisfy { $0 >= joined }, "\(asked), joined at \(joined)")
            #expect(!origin.requests.contains { $0.hasPrefix("/s") })
            // A part that was requested because it was announced is not requested again when it is listed.
            #expect(Set(asked).count == asked.count, "\(asked)")
            await scenario.finish()
        }

        @Test(
            "two players with one playout delay that begin at different times show the same frame at the same time",
            .timeLimit(.minutes(5)))
        func synchronization() async throws {
            let (began, beganTime) = (MonotonicClock.now(), MonotonicClock.wallTime())
            let head = TimeSpan(seconds: Double(Self.head) * Self.partSeconds)
            let origin = try origin(began, captured: beganTime - head)
            defer { origin.stop() }
            // It is more than the hold-back, which playback would have otherwise, and the first player has less media.
            let delay = 3.5
            // Returns the median time from the capture of the last frames until they were displayed.
            func age(_ scenario: PlaybackScenario) -> Double? {
                let sights = scenario.sights.suffix(40)
                guard sights.count == 40 else { return nil }
                let ages = sights.map { (head + ($0.instant - began)).seconds - Double($0.stamp) / scenario.rate }
                return ages.sorted()[20]
            }
            func isSynchronized(_ age: Double?) -> Bool { age.map { abs($0 - delay) <= 0.04 } ?? false }
            let scenarios = (0..<2).map { _ in
                PlaybackScenario(rate: film.rate, playoutDelay: .milliseconds(Int(delay * 1_000)))
            }
            scenarios[0].player.set(video: Video(origin.uri("/live.m3u8")), play: true)
            try await scenarios[0].wait { isSynchronized(age(scenarios[0])) }
            let first = scenarios[0].stamp
            try await scenarios[0].wait { scenarios[0].stamp >= first + film.rate }
            scenarios[1].player.set(video: Video(origin.uri("/live.m3u8")), play: true)
            // The ages change with each frame, so those that are compared are those that met the condition.
            var ages: [Double] = []
            try await scenarios[0].wait {
                ages = scenarios.compactMap(age)
                return ages.count == scenarios.count && ages.allSatisfy(isSynchronized)
            }
            print("synchronized players: frames are displayed \(ages) s after their capture")
            #expect(abs(ages[0] - ages[1]) <= 0.1)
            for scenario in scenarios { await scenario.finish() }
        }

        @Test(
            "after a short stall playback catches up by a higher rate, and after a long one by a seek",
            .timeLimit(.minutes(5)))
        func pursuit() async throws {
            let began = MonotonicClock.now()
            let outage = Exclusive<Instant?>(nil)
            let origin = try origin(began, outage: outage)
            defer { origin.stop() }
            let scenario = PlaybackScenario(rate: film.rate)
            // Returns the age of the displayed frame.
            func age() -> Double {
                guard let sight = scenario.sights.last else { return .infinity }
                return Double(Self.head) * Self.partSeconds + (MonotonicClock.now() - began).seconds
                    - Double(sight.stamp) / scenario.rate
            }
            scenario.player.set(video: Video(origin.uri("/live.m3u8")), play: true)
            try await scenario.wait(for: "+ ready")
            let first = scenario.stamp
            try await scenario.wait { scenario.stamp >= first + film.rate }
            let typical = age()
            let stalls = scenario.transcript.all.count

            outage.change { $0 = MonotonicClock.now() + .milliseconds(1_700) }
            try await scenario.wait(for: "+ stalled", after: stalls)
            try await scenario.wait(for: "+ recovered", after: stalls)
            let late = age()
            let (begin, moment) = (scenario.stamp, MonotonicClock.now())
            try await scenario.wait { age() <= typical + 0.5 }
            let caught = (scenario.stamp, MonotonicClock.now())
            let rate = Double(caught.0 - begin) / scenario.rate / (caught.1 - moment).seconds
            print(
                "low latency: \(typical) s old, \(late) s after a stall, caught up in \(caught.1 - moment) at \(rate)")
            // Playback was faster, or a busy machine made it so late that it seeked.
            #expect(late <= typical + 0.5 || rate > 1.02)

            outage.change { $0 = MonotonicClock.now() + .seconds(5 as Int64) }
            let count = scenario.transcript.all.count
            try await scenario.wait(for: "+ stalled", after: count)
            try await scenario.wait(for: "+ recovered", after: count)
            try await scenario.wait { age() <= typical + 0.8 }
            let after = scenario.stamps.drop { $0 < caught.0 }
            #expect(zip(after, after.dropFirst()).contains { $1 - $0 > film.rate }, "the content between is skipped")
            #expect(!scenario.received.contains { $0.hasPrefix("error") })
            await scenario.finish()
        }
    }
}
