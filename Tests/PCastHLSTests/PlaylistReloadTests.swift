import PCastCore
import PCastHLS
import Testing

@Suite("The schedule of playlist requests")
struct PlaylistReloadTests {
    private static let start = Instant(nanoseconds: 7_000_000_000)

    /// A client of the machine and the network between them. It answers each request after a time with a given result.
    private struct Client {
        var reload: PlaylistReload
        var now: Instant
        /// Every request with its time.
        var requests: [(time: TimeSpan, request: PlaylistReload.Request)] = []
        /// All other outputs of the machine with their times.
        var outputs: [(time: TimeSpan, output: PlaylistReload.Output)] = []
        /// The answers that have not arrived yet.
        var answers: [(time: Instant, id: Int, result: Result<MediaPlaylist, ReloadFailure>)] = []

        init(mirrors: Int = 1, first: DeliveryDirectives = DeliveryDirectives(), seed: UInt64 = 1) {
            reload = PlaylistReload(mirrors: mirrors, first: first, seed: seed, at: start)
            now = start
        }

        /// Runs for a time. `answer` determines the answer to a request and its delay; nil for no answer.
        mutating func run(
            for span: TimeSpan,
            _ answer: (PlaylistReload.Request, TimeSpan) throws -> (TimeSpan, Result<MediaPlaylist, ReloadFailure>)?
        ) rethrows {
            let end = now + span
            while true {
                while let output = reload.poll() {
                    guard case .load(let request) = output else {
                        outputs.append((now - start, output))
                        continue
                    }
                    requests.append((now - start, request))
                    if let (delay, result) = try answer(request, now - start) {
                        answers.append((now + delay, request.id, result))
                    }
                }
                let arrival = answers.map(\.time).min()
                guard let next = Instant.earlier(reload.deadline, arrival), next <= end else { break }
                #expect(next >= now)
                now = max(now, next)
                if let index = answers.firstIndex(where: { $0.time <= now }) {
                    let answer = answers.remove(at: index)
                    switch answer.result {
                    case .success(let playlist): reload.handle(.loaded(id: answer.id, playlist), at: now)
                    case .failure(let failure): reload.handle(.failed(id: answer.id, failure), at: now)
                    }
                } else {
                    reload.advance(to: now)
                }
            }
            now = end
        }

        var times: [Double] { requests.map(\.time.seconds) }
    }

    private func live(_ last: Int64, target: Double = 4, control: ServerControl = ServerControl()) -> MediaPlaylist {
        MediaPlaylist(
            targetDuration: seconds(target), mediaSequence: last - 3, serverControl: control,
            segments: (last - 3...last).map { MediaSegment(number: $0, uri: "\($0).ts", duration: seconds(target)) })
    }

    private let quick = TimeSpan.milliseconds(20)

    @Test("a reload waits for a target duration after a change, and for half of one otherwise")
    func polling() {
        var client = Client()
        client.run(for: seconds(21)) { _, time in
            // The server is late by a second and a half from the third segment on.
            (quick, .success(live(10 + Int64(max(0, time.seconds - (time.seconds >= 8 ? 1.5 : 0)) / 4))))
        }
        #expect(client.times == [0, 4, 8, 10, 14, 18])
        #expect(client.requests.allSatisfy { $0.request.directives == DeliveryDirectives() })
        #expect(client.outputs.isEmpty)
    }

    @Test("a slow answer does not delay the next request (androidx/media 663)")
    func slowAnswer() {
        var client = Client()
        client.run(for: seconds(13)) { _, time in (seconds(3), .success(live(10 + Int64(time.seconds / 4)))) }
        #expect(client.times == [0, 4, 8, 12])
    }

    @Test("a complete playlist is not requested again")
    func complete() {
        for isAtOnce in [true, false] {
            var client = Client()
            client.run(for: seconds(60)) { _, time in
                var playlist = live(10)
                playlist.isComplete = isAtOnce || time > .zero
                return (quick, .success(playlist))
            }
            #expect(client.times == (isAtOnce ? [0] : [0, 4]))
            #expect(client.outputs.map(\.output) == [.ended])
            #expect(client.reload.deadline == nil)
        }
    }

    @Test("blocking requests name the next part, and follow each other", arguments: UInt64(1)...5)
    func blocking(seed: UInt64) throws {
        let server = LiveServer(seed: seed, count: 12)
        var client = Client()
        var seen: [MediaPlaylist] = []
        try client.run(for: server.end + seconds(30)) { request, time in
            // The answer comes when the named part is available.
            var moment = time + seconds(8)
            let directives = request.directives
            while let segment = directives.segment, moment < server.end {
                let playlist = server.playlist(at: moment)
                let parts = Int64(playlist.openSegment?.parts.count ?? 0)
                if playlist.nextNumber > segment || playlist.nextNumber == segment && parts > directives.part ?? 0 {
                    break
                }
                moment += .milliseconds(10)
            }
            let playlist = server.playlist(at: moment)
            if directives.skip != nil {
                // The update results in the same playlist.
                let known = try #require(seen.last)
                #expect(try MediaPlaylist(playlist.deltaUpdate, updating: known) == MediaPlaylist(playlist.text))
            }
            seen.append(try MediaPlaylist(playlist.text))
            return (moment - time - seconds(8) + .milliseconds(5), .success(playlist))
        }
        #expect(client.outputs.map(\.output) == [.ended])
        // There is one request for each part, and no part was missed.
        for (earlier, later) in zip(seen, seen.dropFirst()) where later.openSegment != nil {
            let parts = later.openSegment?.parts.count ?? 0
            if earlier.nextNumber == later.nextNumber { #expect(parts == (earlier.openSegment?.parts.count ?? 0) + 1) }
        }
        #expect(client.requests.dropFirst().allSatisfy { $0.request.directives.isBlocking })
        #expect(client.requests.dropFirst(2).allSatisfy { $0.request.directives.skip == .segments })
        #expect(Double(client.requests.count) < (server.end.seconds - 8) / 0.5 + 8)
    }

    @Test("without parts, requests name only the number of a complete segment")
    func blockingSegments() {
        var client = Client()
        let control = ServerControl(canSkipUntil: seconds(24), canSkipDateRanges: true, canBlockReload: true)
        client.run(for: seconds(10)) { request, time in
            let wait = request.directives.isBlocking ? 4 - time.seconds.truncatingRemainder(dividingBy: 4) : 0
            return (seconds(wait + 0.01), .success(live(10 + Int64((time.seconds + wait) / 4), control: control)))
        }
        let directives = client.requests.map(\.request.directives)
        #expect(directives.dropFirst().map(\.segment) == [11, 12, 13])
        #expect(directives.allSatisfy { $0.part == nil })
        #expect(directives[1].applied(to: "a.m3u8?x=1#f") == "a.m3u8?x=1&_HLS_msn=11&_HLS_skip=v2")
    }

    @Test("a server that does not block as announced gets a limited number of requests (LL-HLS busy loop)")
    func busyLoop() {
        var client = Client()
        let control = ServerControl(canBlockReload: true)
        client.run(for: seconds(20)) { _, time in
            (.milliseconds(1), .success(live(10 + Int64(time.seconds / 4), control: control)))
        }
        #expect(client.requests.count <= 20)
        var flood = Client()
        // The same limit applies to a server that always has a new playlist.
        flood.run(for: seconds(10)) { request, _ in
            (.milliseconds(1), .success(live(10 + Int64(request.id), control: control)))
        }
        #expect(flood.requests.count <= 201)
    }

    @Test("hostile durations do not cause requests without a pause", arguments: [0.0, 0.001, 86_400])
    func harmfulTarget(target: Double) {
        var client = Client()
        client.run(for: seconds(60)) { _, _ in (.zero, .success(live(10, target: target))) }
        #expect(client.requests.count <= 122)
    }

    @Test("an update that does not apply is requested in full at once, without an error")
    func failedUpdate() {
        var client = Client()
        let control = ServerControl(canSkipUntil: seconds(24))
        client.run(for: seconds(9)) { request, time in
            guard request.directives.skip == nil else {
                return (quick, .failure(.unreadable(.skippedSegmentsUnknown(first: 1, count: 2))))
            }
            return (quick, .success(live(10 + Int64(time.seconds / 4), control: control)))
        }
        #expect(client.requests.map { $0.request.directives.skip != nil } == [false, true, false, true, false])
        #expect(client.requests[2].time - client.requests[1].time < .milliseconds(60))
        #expect(client.outputs.isEmpty)
    }

    @Test("no update is requested if the known playlist is too old for it")
    func oldForUpdate() {
        for (boundary, skips) in [(6.0, false), (24, true)] {
            var client = Client()
            let control = ServerControl(canSkipUntil: seconds(boundary))
            client.run(for: seconds(20)) { _, time in
                (quick, .success(live(10 + Int64(time.seconds / 4), control: control)))
            }
            #expect(client.requests.dropFirst().allSatisfy { ($0.request.directives.skip != nil) == skips })
        }
    }

    @Test("a failing address is requested with growing delays, and finally no more")
    func backoff() {
        var client = Client()
        client.run(for: seconds(200)) { _, _ in (quick, .failure(.unreachable)) }
        let pauses = zip(client.times, client.times.dropFirst()).map { $1 - $0 }
        for (pause, expected) in zip(pauses, [0.5, 1, 2, 4, 8, 8]) {
            #expect(pause >= expected * 0.75 && pause <= expected * 1.25 + 0.05)
        }
        #expect(client.outputs.map(\.output) == [.gaveUp(.unreachable)])
        #expect(client.outputs[0].time >= PlaylistReload.timeout && client.outputs[0].time < seconds(45))
        #expect(client.reload.deadline == nil)
        // Another client retries at other times.
        var other = Client(seed: 2)
        other.run(for: seconds(200)) { _, _ in (quick, .failure(.unreachable)) }
        #expect(other.times != client.times)
    }

    @Test("forbidden or removed playlists are not requested again, and a server's own delay is respected")
    func finalFailure() {
        for code in [401, 403, 410] {
            var client = Client()
            client.run(for: seconds(60)) { _, _ in (quick, .failure(.status(code))) }
            #expect(client.times == [0] && client.outputs.map(\.output) == [.gaveUp(.status(code))])
        }
        var busy = Client()
        busy.run(for: seconds(29)) { _, _ in (quick, .failure(.status(503, retryAfter: seconds(12)))) }
        #expect(busy.times == [0, 12.02, 24.04])
    }

    @Test("a mirror replaces a failed address at once, and stays in use")
    func mirrors() {
        var client = Client(mirrors: 3)
        client.run(for: seconds(30)) { request, time in
            switch request.mirror {
            case 0 where time > seconds(5): (quick, .failure(.unreachable))
            case 1: (quick, .failure(.status(403)))
            default: (quick, .success(live(10 + Int64(time.seconds / 4))))
            }
        }
        #expect(client.requests.prefix(5).map(\.request.mirror) == [0, 0, 0, 1, 2])
        #expect(client.requests.dropFirst(5).allSatisfy { $0.request.mirror == 2 })
        #expect(client.times[4] - client.times[2] < 0.2)
        #expect(client.outputs.isEmpty)
    }

    @Test("after a failure the next request is plain, because a restarted server rejects future numbers")
    func plainAfterTrouble() {
        var client = Client()
        let control = ServerControl(canSkipUntil: seconds(24), canBlockReload: true)
        client.run(for: seconds(10)) { request, _ in
            if request.id == 0 { return (quick, .success(live(500, control: control))) }
            return request.directives.isBlocking && request.id == 1
                ? (quick, .failure(.status(400)))
                : (seconds(4), .success(live(3 + Int64(request.id), control: control)))
        }
        #expect(client.requests[1].request.directives.segment == 501)
        #expect(client.requests[2].request.directives == DeliveryDirectives())
        // A playlist that shares nothing with the known one is new.
        #expect(client.requests[3].request.directives.segment == 6)
    }

    @Test("a playlist without changes for three target durations is stale, and its recovery is reported once")
    func stale() {
        var client = Client()
        client.run(for: seconds(40)) { _, time in
            (quick, .success(live(10 + Int64((time < seconds(25) ? min(time, seconds(4.5)) : time).seconds / 4))))
        }
        #expect(client.outputs.map(\.output) == [.stale, .recovered])
        #expect(client.outputs[0].time == seconds(16) + quick)
        #expect(client.outputs[1].time > seconds(25) && client.outputs[1].time < seconds(28))
    }

    @Test("a stale mirror is replaced by the next, also while a request is pending")
    func staleMirror() {
        var client = Client(mirrors: 2)
        let control = ServerControl(canBlockReload: true)
        client.run(for: seconds(30)) { request, time in
            if request.mirror == 0 {
                return request.id == 0 ? (quick, .success(live(10, control: control))) : nil
            }
            return (quick, .success(live(10 + Int64(time.seconds / 4), control: control)))
        }
        #expect(client.outputs.map(\.output) == [.stale, .abandon(id: 1), .recovered])
        #expect(client.requests.dropFirst(2).allSatisfy { $0.request.mirror == 1 })
        #expect(client.times[2] == 12.02)
    }

    @Test("a missing answer fails after the longest blocking time, and a later one is ignored")
    func timeouts() {
        var client = Client()
        let control = ServerControl(canBlockReload: true)
        client.run(for: seconds(40)) { request, _ in
            if request.id == 0 { return (quick, .success(live(10, control: control))) }
            return (seconds(25), .success(live(11, control: control)))
        }
        #expect(client.outputs.map(\.output).contains(.abandon(id: 1)))
        let abandoned = client.outputs.first { $0.output == .abandon(id: 1) }
        // Three target durations, and 8 s.
        #expect(abandoned?.time == seconds(20.05))
        #expect(client.outputs.map(\.output).filter { $0 == .recovered }.isEmpty)
        var first = Client()
        first.run(for: seconds(9)) { _, _ in nil }
        #expect(first.outputs.map(\.output) == [.abandon(id: 0)] && first.outputs[0].time == seconds(8))
    }

    @Test("if a cache alternates old and new playlists, only the new ones count")
    func alternatingCache() {
        var client = Client()
        client.run(for: seconds(24)) { request, time in
            (quick, .success(live(10 + Int64(time.seconds / 4) - Int64(request.id % 2))))
        }
        // An older playlist counts as unchanged: half a target duration.
        #expect(client.times.prefix(6) == [0, 4, 6, 10, 12, 16])
        #expect(client.outputs.isEmpty)
    }

    @Test("a switch to another rendition requests the part of its report")
    func joining() {
        let report = RenditionReport(uri: "b.m3u8", lastSegment: 40, lastPart: 2)
        var client = Client(first: DeliveryDirectives(joining: report))
        client.run(for: .zero) { _, _ in nil }
        #expect(
            client.requests[0].request.directives.applied(to: "b.m3u8?_HLS_msn=1&a=2")
                == "b.m3u8?a=2&_HLS_msn=40&_HLS_part=2")
    }
}
