import NIOCore
import NIOPosix
import PCastCodecs
import PCastCore
import PCastHLS
import PCastPackaging
import PCastSFU
import Synchronization
import Testing

@testable import PCastPlatform

/// Whether a request was answered.
private final class Answer: Sendable {
    let value = Mutex(false)
}

/// The playlists and files of a packaged stream, and the requests that wait for them.
@Suite("Packaged streams") struct PackagedStreamTests {
    /// Returns a stream with audio whose fourth segment is open, and its playlist.
    private static func live() async throws -> (PackagedRun, MediaPlaylist) {
        var run = try PackagedRun()
        try run.send(330)
        return (run, try #require(try await run.playlist("opus")))
    }

    private static func parts(_ playlist: MediaPlaylist) -> Int64 { Int64(playlist.openSegment?.parts.count ?? 0) }

    @Test("a request for the next part is answered with the packet that completes the part, and not before")
    func blockingReload() async throws {
        let (live, before) = try await Self.live()
        var run = live
        let (segment, part) = (before.nextNumber, Self.parts(before))
        let stream = run.stream
        let now = run.now
        async let answer = stream.mediaPlaylist(
            "opus", DeliveryDirectives(segment: segment, part: part), at: now)
        #expect(try await eventually { stream.waitingCount == 1 })
        var packets = 0
        while stream.waitingCount == 1, packets < 50 {
            try run.send(1)
            packets += 1
        }
        let text = String(buffer: try #require(await answer.content).plain)
        let after = try MediaPlaylist(text)
        // The playlist has one part more than before.
        #expect(after.nextNumber == segment && Self.parts(after) == part + 1)
        #expect((1...11).contains(packets), "\(packets) packets of 20 ms")
        #expect(MediaPlaylistRules.check(after, after: before) == [])
    }

    @Test("requests of 500 viewers for one part are answered together, with the same bytes")
    func manyRequests() async throws {
        let (live, before) = try await Self.live()
        var run = live
        let stream = run.stream
        let directives = DeliveryDirectives(segment: before.nextNumber, part: Self.parts(before))
        let now = run.now
        let answers = try await withThrowingTaskGroup(of: RenderedPlaylist?.self) { group in
            for _ in 0..<500 {
                group.addTask { await stream.mediaPlaylist("opus", directives, at: now).content }
            }
            #expect(try await eventually { stream.waitingCount == 500 })
            // Answers are read later than the part is complete, so no further part may follow it.
            var packets = 0
            while stream.waitingCount > 0, packets < 50 {
                try run.send(1)
                packets += 1
            }
            var answers: [RenderedPlaylist] = []
            for try await answer in group { answers += answer.map { [$0] } ?? [] }
            return answers
        }
        #expect(answers.count == 500 && stream.waitingCount == 0)
        #expect(Set(answers.map { String(buffer: $0.plain) }).count == 1)
        #expect(Set(answers.compactMap(\.gzip)).count == 1)
    }

    /// The actions of the event loops, in order: a number for each answered request, and nil for later work.
    private final class Turns: Sendable {
        private let entries = Mutex<[Int?]>([])

        var all: [Int?] { entries.withLock { $0 } }

        func note(_ number: Int?) { entries.withLock { $0.append(number) } }
    }

    @Test("the requests of a connection's event loop are answered on it, before other work, and a cancelled one is not")
    func eventLoops() async throws {
        let (live, before) = try await Self.live()
        var run = live
        let stream = run.stream
        let directives = DeliveryDirectives(segment: before.nextNumber, part: Self.parts(before))
        guard case .wait(let wait) = stream.mediaPlaylistNow("opus", directives, at: run.now) else {
            Issue.record("the part exists already")
            return
        }
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let (turns, refused) = (Turns(), Turns())
        var numbers: [Int] = []
        for number in 0..<100 {
            let request = WaitingRequest(eventLoop) { isThere in
                guard eventLoop.inEventLoop else { return }
                let list = isThere ? turns : refused
                list.note(number)
                // A client that was answered sends its next request.
                if number == 0 || !isThere { eventLoop.execute { turns.note(nil) } }
            }
            numbers.append(stream.notify(request, after: wait, until: run.now + .seconds(60 as Int64)))
        }
        stream.cancel(numbers[50], wait)
        #expect(try await eventually { refused.all == [50] && turns.all == [nil] })
        var packets = 0
        while stream.waitingCount > 0, packets < 50 {
            try run.send(1)
            packets += 1
        }
        #expect(try await eventually { turns.all.count == 101 })
        let answered = turns.all.dropFirst().compactMap(\.self)
        #expect(answered.sorted() == Array(0..<100).filter { $0 != 50 })
        let last = try #require(turns.all.last)
        #expect(last == nil, "all are answered before the next request")
    }

    @Test("a request that is too far ahead or for another rendition is refused, and one whose time is over ends")
    func refused() async throws {
        let (run, playlist) = try await Self.live()
        let stream = run.stream
        let far = DeliveryDirectives(segment: playlist.nextNumber + 2)
        #expect(await stream.mediaPlaylist("opus", far, at: run.now).isTooFarAhead)
        #expect(await stream.mediaPlaylist("video0", DeliveryDirectives(), at: run.now).isUnknown)
        let now = run.now
        async let answer = stream.mediaPlaylist(
            "opus", DeliveryDirectives(segment: playlist.nextNumber), at: now)
        #expect(try await eventually { stream.waitingCount == 1 })
        // The publisher sends nothing more. Gaps fill the playlist, and after the window nothing does.
        _ = run.advance(by: .seconds(100 as Int64))
        #expect(await answer.hasTimedOut)
        #expect(stream.waitingCount == 0)
    }

    @Test("a player that waits for video and audio counts as one viewer")
    func viewers() async throws {
        var run = try PackagedRun(layers: 2)
        try run.send(350)
        let stream = run.stream
        let now = run.now
        let next = try #require(try await run.playlist("opus")).nextNumber
        try await withThrowingTaskGroup(of: Void.self) { group in
            for name in ["video0", "video1", "video1", "opus", "opus", "opus"] {
                group.addTask {
                    _ = await stream.mediaPlaylist(name, DeliveryDirectives(segment: next), at: now)
                }
            }
            #expect(try await eventually { stream.waitingCount == 6 })
            #expect(stream.viewerCount == 3)
            group.cancelAll()
            try await group.waitForAll()
        }
        #expect(stream.viewerCount == 0)
    }

    @Test("the request of the next part does not count as a viewer, and that of the audio uses no quota beside video")
    func partRequest() async throws {
        var run = try PackagedRun(layers: 1)
        try run.send(350)
        let stream = run.stream
        let now = run.now
        let playlist = try #require(try await run.playlist("video0"))
        let hint = try #require(playlist.preloadHints.first?.uri.split(separator: "/").last.map { String($0) })
        try await withThrowingTaskGroup(of: Void.self) { group in
            for name in ["video0", "opus"] {
                group.addTask {
                    let directives = DeliveryDirectives(segment: playlist.nextNumber + 1)
                    _ = await stream.mediaPlaylist(name, directives, at: now)
                }
            }
            group.addTask { _ = await stream.file(hint, of: "video0", at: now) }
            #expect(try await eventually { stream.waitingCount == 3 })
            #expect(stream.viewerCount == 1)
            group.cancelAll()
            try await group.waitForAll()
        }
        #expect(stream.countsViewers(of: "video0") && !stream.countsViewers(of: "opus"))
        #expect(try PackagedRun().stream.countsViewers(of: "opus"), "there is no video")
    }

    @Test("audio is packaged alone if the video does not arrive, and video that arrives later is added")
    func lateVideo() async throws {
        var run = try PackagedRun(layers: 1, isConfigured: false)
        try run.send(150, hasVideo: false)
        #expect(!run.stream.mayLackVideo(at: run.now))
        try run.send(1, hasVideo: false)
        #expect(run.stream.mayLackVideo(at: run.now))
        // Video whose key frames are rare has more time.
        #expect(!run.stream.needsConfiguration(at: run.now))
        #expect(run.stream.needsConfiguration(at: run.now + .seconds(9 as Int64)))
        run.stream.configure(answersKeyFrameRequests: false, at: run.now)
        try run.send(120, hasVideo: false)
        #expect(try #require(try await run.playlist("opus")).segments.count >= 1)
        #expect(try await run.playlist("video0") == nil)
        try run.send(400)
        let video = try #require(try await run.playlist("video0"))
        #expect(video.mediaSequence == 0 && video.segments.count >= 2)
        for playlist in [video, try #require(try await run.playlist("opus"))] {
            #expect(MediaPlaylistRules.check(playlist) == [])
        }
    }

    @Test("a publisher that reconnects with other layers replaces the renditions, and no name is used twice")
    func changedLayers() async throws {
        var run = try PackagedRun(layers: 2)
        try run.send(300)
        let stream = run.stream
        let now = run.now
        let next = try #require(try await run.playlist("video1")).nextNumber
        async let answer = stream.mediaPlaylist("video1", DeliveryDirectives(segment: next), at: now)
        #expect(try await eventually { stream.waitingCount == 1 })
        stream.restart(at: run.now)
        #expect(stream.setTracks([0: .h264, nil: .opus], at: run.now).keyFrames == [])
        #expect(await answer.isUnknown, "the request does not wait for a rendition that was removed")
        try run.send(200)
        #expect(try await run.playlist("video1") == nil)
        #expect(try #require(try await run.playlist("video0")).segments.count >= 4)

        stream.restart(at: run.now)
        #expect(stream.setTracks([0: .h264, 1: .h264, nil: .opus], at: run.now).keyFrames.contains(1))
        try run.send(300)
        #expect(try await run.playlist("video1") == nil)
        let playlist = try #require(try await run.playlist("video1-1"))
        #expect(playlist.mediaSequence == 0 && MediaPlaylistRules.check(playlist) == [])
        #expect(stream.unitsLost(at: run.now).keyFrames.sorted() == [0, 1])
    }

    @Test("a client that requests AAC at the end of the idle time gets it")
    func transcodingRace() async throws {
        var run = try PackagedRun()
        try run.send(150)
        let stream = run.stream
        for round in 0..<20 {
            let later = run.now + .seconds(Int64(61 * round))
            let isAnswered = Answer()
            let request = Task {
                let playlist = await stream.multivariantPlaylist(prefix: "", at: later)
                isAnswered.value.withLock { $0 = true }
                return playlist
            }
            #expect(!stream.hasAdvanced(to: later))
            _ = stream.advance(to: later, wallTime: run.wallTime)
            #expect(stream.hasAdvanced(to: later) && !stream.hasAdvanced(to: later + .nanoseconds(1)))
            #expect(try await eventually { stream.waitingCount == 1 || isAnswered.value.withLock { $0 } })
            try run.send(20)
            let text = String(buffer: try #require(await request.value).plain)
            #expect(try MultivariantPlaylist(text).renditions(.audio, in: "aac").count == 1, "round \(round)")
        }
    }

    @Test("a client that closes its connection does not leave a request behind")
    func cancelled() async throws {
        let (run, playlist) = try await Self.live()
        let stream = run.stream
        let now = run.now
        let request = Task {
            await stream.mediaPlaylist("opus", DeliveryDirectives(segment: playlist.nextNumber), at: now)
        }
        #expect(try await eventually { stream.waitingCount == 1 })
        request.cancel()
        #expect(await request.value.hasTimedOut)
        #expect(stream.waitingCount == 0)
    }

    @Test("the end of a stream answers all requests with a playlist that has an end")
    func end() async throws {
        let (run, playlist) = try await Self.live()
        let stream = run.stream
        let now = run.now
        async let answer = stream.mediaPlaylist(
            "opus", DeliveryDirectives(segment: playlist.nextNumber + 1, part: 2), at: now)
        #expect(try await eventually { stream.waitingCount == 1 })
        stream.finish(at: now)
        let last = try MediaPlaylist(String(buffer: try #require(await answer.content).plain))
        #expect(last.isComplete && last.segments.count == 4)
        #expect(!stream.isLive && stream.hasEnded(before: now + .milliseconds(1)))
        #expect(!stream.hasEnded(before: now))
        let file = try #require(last.segments.last?.uri?.split(separator: "/").last)
        #expect(await stream.file(String(file), of: "opus", at: now).content != nil)
    }

    @Test("the part that the playlist hints at is awaited, and other parts that do not exist are not")
    func hintedPart() async throws {
        let (live, playlist) = try await Self.live()
        var run = live
        let stream = run.stream
        let now = run.now
        let hint = try #require(playlist.preloadHints.first?.uri.split(separator: "/").last.map { String($0) })
        #expect(await stream.file("i1-99.0.m4s", of: "opus", at: now).isUnknown)
        #expect(await stream.file("../" + hint, of: "opus", at: now).isUnknown)
        async let file = stream.file(hint, of: "opus", at: now)
        #expect(try await eventually { stream.waitingCount == 1 })
        try run.send(12)
        let bytes = try #require(await file.content)
        #expect(bytes.readableBytes > 100)
        // The segment contains the same bytes.
        try run.send(100)
        let number = playlist.nextNumber
        let segment = try #require(await stream.file("i1-\(number).m4s", of: "opus", at: run.now).content)
        #expect(segment.readableBytesView.contains(bytes.readableBytesView))
    }

    @Test("a delta update and gzip are smaller and have the same contents")
    func encodings() async throws {
        var run = try PackagedRun()
        try run.send(3_000)
        let stream = run.stream
        let whole = try #require(await stream.mediaPlaylist("opus", DeliveryDirectives(), at: run.now).content)
        let skipping = DeliveryDirectives(skip: .segments)
        let delta = try #require(await stream.mediaPlaylist("opus", skipping, at: run.now).content)
        #expect(delta.plain.readableBytes < whole.plain.readableBytes)
        #expect(try #require(whole.gzip).readableBytes * 2 < whole.plain.readableBytes)
        let playlist = try MediaPlaylist(String(buffer: whole.plain))
        #expect(try MediaPlaylist(String(buffer: delta.plain), updating: playlist) == playlist)
        #expect(MediaPlaylistRules.check(text: String(buffer: whole.plain)) == [])
    }

    @Test("audio is transcoded to AAC while clients request it, and a later rendition has another name")
    func transcoding() async throws {
        var run = try PackagedRun(layers: 1)
        try run.send(150)
        let stream = run.stream
        let begun = run.now
        async let first = stream.multivariantPlaylist(prefix: "s/", at: begun)
        // The request waits for the first part with AAC.
        #expect(try await eventually { stream.waitingCount == 1 })
        try run.send(20)
        let list = try MultivariantPlaylist(String(buffer: try #require(await first).plain))
        #expect(list.renditions(.audio, in: "aac").map(\.uri) == ["s/aac0.m3u8"])
        #expect(list.renditions(.audio, in: "opus") == [])
        #expect(list.variants.map(\.codecs.last) == ["mp4a.40.2", "mp4a.40.2"])
        #expect(PresentationRules.check(list, media: [:]) == [])
        // AAC begins with the audio that was sent before the request, so that players find the segments of the video.
        let aac = try #require(try await run.playlist("aac0"))
        let video = try #require(try await run.playlist("video0"))
        #expect(aac.segments.count == video.segments.count)
        let (began, beganVideo) = (aac.segments.first?.programDateTime, video.segments.first?.programDateTime)
        #expect((try #require(began) - (try #require(beganVideo))).magnitude <= .milliseconds(45))

        try run.send(2_900)
        _ = run.advance(by: .zero)
        #expect(try await run.playlist("aac0") != nil, "the last request is less than a minute ago")
        try run.send(3_100)
        _ = run.advance(by: .zero)
        #expect(try await run.playlist("aac0") == nil)
        let later = run.now
        async let second = stream.multivariantPlaylist(prefix: "", at: later)
        #expect(try await eventually { stream.waitingCount == 1 })
        try run.send(20)
        let next = try MultivariantPlaylist(String(buffer: try #require(await second).plain))
        #expect(next.renditions(.audio, in: "aac").map(\.uri) == ["aac1.m3u8"])
    }

    @Test("AAC does not begin with audio from before a discontinuity")
    func transcodingAfterDiscontinuity() async throws {
        var run = try PackagedRun(layers: 1)
        try run.send(150)
        let stream = run.stream
        let (restarted, now) = (run.wallTime, run.now)
        stream.restart(at: now)
        try run.send(250)
        let later = run.now
        async let answer = stream.multivariantPlaylist(prefix: "", at: later)
        #expect(try await eventually { stream.waitingCount == 1 })
        try run.send(20)
        #expect(await answer != nil)
        let aac = try #require(try await run.playlist("aac0"))
        #expect(aac.segments.allSatisfy { !$0.isDiscontinuity && $0.discontinuity == 1 })
        #expect(try #require(aac.segments.first?.programDateTime) >= restarted - .milliseconds(45))
        let video = try #require(try await run.playlist("video0"))
        #expect(video.segments.count { $0.isDiscontinuity } == 1)
        #expect(video.segments.last?.discontinuity == 1)
    }

    @Test("a client that requests Opus gets it alone, and nothing is transcoded")
    func opusAlone() async throws {
        var run = try PackagedRun(layers: 1)
        try run.send(150)
        let answer = await run.stream.multivariantPlaylist(prefix: "", audio: .opus, at: run.now)
        let list = try MultivariantPlaylist(String(buffer: try #require(answer).plain))
        #expect(list.renditions.map(\.uri) == ["opus.m3u8"])
        #expect(list.variants.map(\.codecs.last) == ["opus", "opus"])
        try run.send(20)
        #expect(try await run.playlist("aac0") == nil)
    }

    @Test("the multivariant playlist waits until each rendition that has begun has a segment")
    func firstSegment() async throws {
        var run = try PackagedRun(layers: 2)
        try run.send(60)
        #expect(try await run.playlist("video1")?.openSegment != nil)
        let (stream, now) = (run.stream, run.now)
        async let answer = stream.multivariantPlaylist(prefix: "", audio: .opus, at: now)
        #expect(try await eventually { stream.waitingCount == 1 })
        try run.send(60)
        let list = try MultivariantPlaylist(String(buffer: try #require(await answer).plain))
        #expect(list.variants.map(\.uri) == ["video1.m3u8", "video0.m3u8", "opus.m3u8"])
        for uri in list.variants.map(\.uri) {
            #expect(try #require(try await run.playlist(String(uri.dropLast(5)))).segments.count >= 1, "\(uri)")
        }
    }

    @Test("captions are a rendition from the first one on, also those that came before the packager")
    func captions() async throws {
        // With audio, the multivariant playlist would wait for AAC.
        var run = try PackagedRun(layers: 1, hasAudio: false, isConfigured: false)
        let cue = CaptionCue(text: "early", captureTime: run.wallTime, duration: .seconds(2))
        run.stream.add([cue])
        try run.send(1)
        run.stream.configure(answersKeyFrameRequests: true, at: run.now)
        try run.send(150)
        let list = try #require(try await run.multivariant())
        #expect(list.renditions(.subtitles, in: "captions").map(\.uri) == ["captions.m3u8"])
        #expect(list.variants.allSatisfy { $0.subtitles == "captions" })
        #expect(PresentationRules.check(list, media: [:]) == [])
        let playlist = try #require(try await run.playlist("captions"))
        let uri = try #require(playlist.segments.first?.uri)
        let file = try #require(
            await run.stream.file(String(uri.dropFirst("captions/".count)), of: "captions", at: run.now).content)
        #expect(WebVTTSegment(Array(buffer: file))?.cues.map(\.text) == ["early"])
        // A viewer waits for the video and the captions, and counts once.
        #expect(!run.stream.countsViewers(of: "captions") && run.stream.countsViewers(of: "video0"))
        #expect(await run.stream.file("i1-0.m4s", of: "captions", at: run.now).isUnknown)
        #expect(await run.stream.file("i1-0.vtt", of: "video0", at: run.now).isUnknown)
    }

    @Test("the playlist of a stream with streaming-lite lists the highest layer only")
    func highestLayer() async throws {
        for (layers, uris) in [
            (PackagedStream.Layers.all, ["video1.m3u8", "video0.m3u8"]), (.highest, ["video1.m3u8"]),
        ] {
            var run = try PackagedRun(layers: 2, hasAudio: false, listed: layers)
            try run.send(320)
            #expect(try await run.multivariant()?.variants.map(\.uri) == uris)
        }
    }

    @Test("a stream without a key frame has no playlist, and then requests key frames on the segment clock")
    func keyFrames() async throws {
        let stream = PackagedStream(
            PackagedRun.id, of: ApplicationID("first"), PackagerConfiguration(instance: "i1"), codecs: [0: .h264],
            layers: .all)
        let delta = PublishedUnit(
            stream: PackagedRun.id, layer: 0, codec: .h264, bytes: [0, 0, 1, 0x41], isKeyFrame: false, timestamp: 0,
            captureTime: WallTime(millisecondsSinceEpoch: 1_767_225_600_000))
        let now = Instant(nanoseconds: 1)
        #expect(stream.append([delta], at: now).keyFrames == [])
        #expect(!stream.needsConfiguration(at: now + .seconds(10 as Int64)), "there is no key frame")
        #expect(await stream.mediaPlaylist("opus", DeliveryDirectives(), at: now).isUnknown)

        var run = try PackagedRun(layers: 2)
        #expect(try run.send(96) == [])
        // A frame before the end of the segment, each layer needs a key frame.
        #expect(Set(try run.send(6)) == [0, 1])
        #expect(Set(run.stream.unitsLost(at: run.now).keyFrames) == [0, 1])
    }

    @Test("a layer whose first key frame was lost requests another one each second, and then begins")
    func lostFirstKeyFrame() async throws {
        var run = try PackagedRun(layers: 1)
        #expect(try run.send(10, hasVideo: false) == [])
        // The SFU has requested one, which has a second to arrive.
        #expect(try run.send(40) == [])
        #expect(try run.send(40) == [0])
        #expect(try await run.playlist("video0") == nil)
        #expect(try run.send(20) == [], "the key frame has arrived")
        _ = try run.send(200)
        #expect(try await run.playlist("video0") != nil)
    }

    @Test("a second key frame is requested, and the units until then are packaged", arguments: [true, false])
    func begin(answers: Bool) async throws {
        let sent = try PackagedRun.units(60, keyFrames: answers ? [0, 15] : [0, 50])
        let stream = PackagedStream(
            PackagedRun.id, of: ApplicationID("first"), PackagerConfiguration(instance: "i1"), codecs: [0: .h264],
            layers: .all)
        let start = Instant(nanoseconds: 1)
        var decided: Int?
        for (number, unit) in sent.enumerated() {
            let now = start + .milliseconds(40 * Int64(number))
            #expect(stream.append([unit], at: now).keyFrames.contains(0) == (number == 0) || decided != nil)
            guard decided == nil, stream.needsConfiguration(at: now) else { continue }
            decided = number
            stream.configure(answersKeyFrameRequests: answers, at: now)
        }
        // With the second key frame, or after a second.
        #expect(decided == (answers ? 15 : 26))
        #expect(!stream.needsConfiguration(at: start + .seconds(60 as Int64)))
        let end = start + .seconds(3 as Int64)
        stream.finish(at: end)
        let answer = await stream.mediaPlaylist("video0", DeliveryDirectives(), at: end)
        let playlist = try MediaPlaylist(String(buffer: try #require(answer.content).plain))
        let duration = playlist.segments.reduce(TimeSpan.zero) { $0 + $1.duration }
        #expect(duration >= .milliseconds(2_300), "the units from the first key frame on are \(duration)")
    }

    @Test("what a packaged stream holds does not grow with its duration")
    func memory() async throws {
        var run = try PackagedRun()
        try run.send(6_000)
        let early = try #require(try await run.playlist("opus"))
        try run.send(30_000)
        let late = try #require(try await run.playlist("opus"))
        #expect(late.segments.count == early.segments.count)
        let removed = late.mediaSequence - 20
        #expect(await run.stream.file("i1-\(removed).m4s", of: "opus", at: run.now).isUnknown)
    }

    @Test("a publisher that reconnects continues the playlist after a discontinuity")
    func reconnection() async throws {
        var run = try PackagedRun()
        try run.send(300)
        let before = try #require(try await run.playlist("opus"))
        run.stream.restart(at: run.now)
        try run.send(300)
        let after = try #require(try await run.playlist("opus"))
        #expect(after.mediaSequence == before.mediaSequence)
        #expect(after.segments.count == before.segments.count + 3)
        #expect(after.segments.count { $0.isDiscontinuity } == 1)
        #expect(MediaPlaylistRules.check(after) == [])
    }
}

/// The transcoding of Opus to AAC.
@Suite("Audio transcoding") struct AudioTranscoderTests {
    private static let start = WallTime(millisecondsSinceEpoch: 1_767_225_600_000)

    /// Returns Opus packets of 20 ms whose timestamps begin with `first`.
    private static func packets(_ count: Int, first: Int64) throws -> [PublishedUnit] {
        let encoder = try OpusEncoder(channels: 2, bitrate: .kilobits(96))
        let samples = (0..<count * 960).flatMap { index -> [Int16] in
            let value = Int16((index % 96 < 48 ? 1 : -1) * 6_000)
            return [value, value]
        }
        let audio = AudioFrame(
            samples: samples, channels: 2, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .opus))
        return try encoder.encode(audio).enumerated().map { index, packet in
            let ticks = Int64(index) * 960
            return PublishedUnit(
                stream: StreamID("a"), layer: nil, codec: .opus, bytes: packet.bytes, isKeyFrame: true,
                timestamp: first + ticks, captureTime: start + ClockRate.opus.span(ofTicks: ticks))
        }
    }

    /// Returns whether each packet begins where the one before it ends.
    private static func isContinuous(_ units: [AccessUnit]) -> Bool {
        zip(units, units.dropFirst()).allSatisfy { $1.timestamp - $0.timestamp == 1_024 }
    }

    @Test("the packets of AAC have the timestamps and capture times of the samples")
    func times() throws {
        let transcoder = try AudioTranscoder()
        #expect(transcoder.format.sampleRate == 48_000 && transcoder.format.channels == 2)
        #expect(transcoder.format.priming == 1_024)
        let units = try Self.packets(100, first: 77_000).flatMap { transcoder.transcode($0) }
        #expect(units.first?.timestamp == 77_000)
        #expect(Self.isContinuous(units))
        #expect((90...94).contains(units.count), "\(units.count) packets of 1,024 samples")
        for unit in units {
            let expected = Self.start + ClockRate.opus.span(ofTicks: unit.timestamp - 77_000)
            #expect((unit.captureTime - expected).magnitude < .microseconds(50))
        }
    }

    @Test("lost packets are concealed, late and malformed ones are ignored, and timestamps may begin again")
    func losses() throws {
        let transcoder = try AudioTranscoder()
        let packets = try Self.packets(100, first: 0)
        var units: [AccessUnit] = []
        for (index, packet) in packets.enumerated() where !(30..<35).contains(index) && index != 60 {
            units += transcoder.transcode(packet)
            if index == 40 {
                #expect(transcoder.transcode(packets[10]).isEmpty)
                let malformed = PublishedUnit(
                    stream: StreamID("a"), layer: nil, codec: .opus, bytes: [], isKeyFrame: true, timestamp: 41 * 960,
                    captureTime: Self.start)
                #expect(transcoder.transcode(malformed).isEmpty)
            }
        }
        #expect(Self.isContinuous(units))
        #expect((90...94).contains(units.count))
        let restarted = try Self.packets(10, first: -1_000_000).flatMap { transcoder.transcode($0) }
        #expect(try #require(restarted.last).timestamp > -1_000_000)
        #expect(try #require(restarted.last).timestamp < -990_000)
    }
}
