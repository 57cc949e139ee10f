import PCastCodecs
import PCastCore
import PCastHLS
import PCastPackaging
import Testing

@Suite("A stream is packaged as HLS")
struct StreamPackagerTests {
    static let large = RenditionDescription(name: "video0", source: .video, bitrate: .kilobits(900))
    static let small = RenditionDescription(name: "video1", source: .video, bitrate: .kilobits(300))
    static let audio = RenditionDescription(name: "audio0", source: .opus(channels: 2), bitrate: .kilobits(96))

    /// Returns a run with two layers of video and audio.
    private static func live(_ change: (inout PackagerConfiguration) -> Void = { _ in }) throws -> LiveRun {
        var run = LiveRun([large, small, audio], change)
        run.parameterSets["video0"] = try MediaSamples.parameterSets(Dimensions(width: 640, height: 360))
        run.parameterSets["video1"] = try MediaSamples.parameterSets(MediaSamples.size)
        return run
    }

    @Test("playlists conform to the rules from the first part to the end", arguments: [12.0, 15, 24, 25, 30, 50, 60])
    func conforms(frameRate: Double) throws {
        var run = try Self.live()
        run.frameRate = frameRate
        run.run(.seconds(45 as Int64))
        #expect(run.violations == [])
        let playlist = try #require(run.playlists["video0"])
        #expect(playlist.targetDuration == .seconds(3 as Int64))
        #expect(playlist.segments.count >= 15 && playlist.mediaSequence >= 5)
        #expect(playlist.segments.allSatisfy { (1.9...2.3).contains($0.duration.seconds) })
        let target = try #require(playlist.partTargetDuration).seconds
        #expect((0.15...0.25).contains(target), "parts of \(target) s")
        run.packager.finish()
        run.observe()
        #expect(run.violations == [])
        #expect(run.playlists["video0"]?.isComplete == true && run.playlists["audio0"]?.isComplete == true)
        #expect(run.playlists["video0"]?.preloadHints == [])
    }

    @Test("dates are the capture times, and segments begin at the same dates in all renditions")
    func dates() throws {
        var run = try Self.live()
        run.run(.seconds(21 as Int64))
        for name in ["video0", "video1", "audio0"] {
            let playlist = try #require(run.playlists[name])
            let first = try #require(playlist.segments.first)
            #expect(first.number == 0)
            var expected = LiveRun.start
            for segment in playlist.segments {
                #expect((try #require(segment.programDateTime) - expected).magnitude <= .milliseconds(45), "\(name)")
                expected = expected + .seconds(2 as Int64)
                if name != "audio0" { expected = try #require(segment.programDateTime) + segment.duration }
            }
        }
    }

    @Test("the multivariant playlist has each layer, the audio group and the audio alone")
    func multivariant() throws {
        var run = try Self.live()
        run.run(.seconds(6 as Int64))
        let text = try #require(run.packager.multivariantPlaylist).text
        let playlist = try MultivariantPlaylist(text)
        #expect(playlist.variants.map(\.uri) == ["video0.m3u8", "video1.m3u8", "audio0.m3u8"])
        #expect(playlist.variants[0].resolution == Dimensions(width: 640, height: 360))
        #expect(playlist.variants[0].codecs.count == 2 && playlist.variants[0].codecs[1] == "opus")
        #expect(abs((playlist.variants[0].framesPerSecond ?? 0) - 30) < 0.5)
        #expect(playlist.variants[2].resolution == nil)
        #expect(playlist.renditions(.audio, in: "opus").map(\.uri) == ["audio0.m3u8"])
        #expect(run.violations == [])
    }

    @Test("audio of several languages is one group, of which the first member is the default")
    func languages() throws {
        let tracks = [
            RenditionDescription(
                name: "opus", source: .opus(channels: 2), bitrate: .kilobits(96), label: "English", language: "en"),
            RenditionDescription(
                name: "audio1", source: .opus(channels: 2), bitrate: .kilobits(96), label: "Deutsch", language: "de"),
            RenditionDescription(
                name: "audio2", source: .opus(channels: 2), bitrate: .kilobits(96), label: "English 2", language: "en"),
            RenditionDescription(
                name: "audio3", source: .opus(channels: 2), bitrate: .kilobits(96), label: "English 3", language: "en",
                describesVideo: true),
        ]
        var run = LiveRun([Self.large] + tracks)
        run.parameterSets["video0"] = try MediaSamples.parameterSets(MediaSamples.size)
        run.run(.seconds(6 as Int64))
        #expect(run.violations == [])
        let playlist = try MultivariantPlaylist(try #require(run.packager.multivariantPlaylist).text)
        // The variants do not multiply: the video with the group, and the audio alone.
        #expect(playlist.variants.map(\.uri) == ["video0.m3u8", "opus.m3u8"])
        let renditions = playlist.renditions(.audio, in: "opus")
        #expect(renditions.map(\.uri) == ["opus.m3u8", "audio1.m3u8", "audio2.m3u8", "audio3.m3u8"])
        #expect(renditions.map(\.name) == ["English", "Deutsch", "English 2", "English 3"])
        #expect(renditions.map(\.language) == ["en", "de", "en", "en"])
        #expect(renditions.map(\.isDefault) == [true, false, false, false])
        // A player cannot distinguish the second track with English from the first.
        #expect(renditions.map(\.isAutoselect) == [true, true, false, true])
        #expect(renditions.map(\.characteristics.isEmpty) == [true, true, true, false])
        #expect(renditions.allSatisfy { $0.channels == "2" })
        #expect(PresentationRules.check(playlist, media: [:]) == [])
        let starts = tracks.compactMap { run.playlists[$0.name]?.segments.first?.programDateTime }
        #expect(starts.count == 4 && Set(starts).count == 1)
    }

    @Test("a change of size begins a discontinuity in all renditions, with another map where the parameters change")
    func sizeChange() throws {
        var run = try Self.live()
        run.run(.milliseconds(11_100))
        let sets = run.parameterSets
        run.parameterSets["video0"] = try MediaSamples.parameterSets(Dimensions(width: 480, height: 270))
        run.run(.seconds(12 as Int64))
        run.parameterSets = sets
        run.run(.seconds(12 as Int64))
        #expect(run.violations == [])
        for name in ["video0", "video1", "audio0"] {
            let segments = try #require(run.playlists[name]).segments
            #expect(segments.filter(\.isDiscontinuity).count == 2, "\(name)")
            let maps = Set(segments.compactMap(\.initialization?.uri))
            // The parameters of the other renditions do not change.
            #expect(maps.count == (name == "video0" ? 3 : 1), "\(name)")
            for map in maps { #expect(run.bytes(map, name) != nil) }
        }
    }

    @Test("a publisher that reconnects with other timestamps begins a discontinuity after the absence")
    func reconnect() throws {
        var run = try Self.live()
        run.run(.seconds(9 as Int64))
        run.run(.seconds(5 as Int64), without: ["video0", "video1", "audio0"])
        run.timestampOffset = .seconds(7 as Int64)
        run.packager.restart()
        run.run(.seconds(12 as Int64))
        #expect(run.violations == [])
        for name in ["video0", "video1", "audio0"] {
            let segments = try #require(run.playlists[name]).segments
            let gap = try #require(segments.first { $0.isGap }?.uri, "\(name)")
            #expect(run.bytes(gap, name) == [0, 0, 0, 8] + Array("free".utf8), "\(name)")
            #expect(segments.filter(\.isDiscontinuity).count == 1, "\(name)")
        }
    }

    @Test("an absence of media has segments of its own without parts, and a player that awaits a part gets them")
    func absence() throws {
        var run = try Self.live()
        run.run(.milliseconds(8_700))
        let before = try #require(run.playlists["video0"])
        run.run(.milliseconds(4_500), without: ["video0", "video1", "audio0"])
        for name in ["video0", "video1", "audio0"] {
            let playlist = try #require(run.packager.mediaPlaylist(of: name))
            #expect(playlist.openSegment == nil, "\(name)")
            let gap = try #require(playlist.segments.last)
            #expect(gap.isGap && gap.number > before.nextNumber - 1, "\(name)")
            let awaited = DeliveryDirectives(segment: gap.number, part: 0)
            #expect(playlist.answer(to: awaited) == .ready, "\(name)")
            #expect(playlist.answer(to: DeliveryDirectives(segment: gap.number + 1, part: 0)) == .wait, "\(name)")
        }
        run.run(.seconds(6 as Int64))
        #expect(run.violations == [])
        for name in ["video0", "video1", "audio0"] {
            let segments = try #require(run.playlists[name]).segments
            #expect(segments.contains { $0.isGap } && segments.last?.isGap == false, "\(name)")
            #expect(segments.allSatisfy { !$0.isGap || $0.parts.isEmpty }, "\(name)")
            #expect(segments.flatMap(\.parts).allSatisfy { !$0.isGap }, "\(name)")
        }
    }

    @Test("the tracks of a publisher that reconnects begin one discontinuity, even if its capture clock is corrected")
    func reconnectWithCorrection() throws {
        var run = try Self.live()
        run.run(.seconds(9 as Int64))
        run.timestampOffset = .seconds(7 as Int64)
        run.packager.restart()
        // The audio begins first. When the video begins, the capture clock is set back.
        run.run(.milliseconds(600), without: ["video0", "video1"])
        run.clockError = .seconds(-1 as Int64)
        run.run(.seconds(12 as Int64))
        #expect(run.violations == [])
        for name in ["video0", "video1", "audio0"] {
            let segments = try #require(run.playlists[name]).segments
            #expect(segments.count { $0.isDiscontinuity } == 1, "\(name)")
        }
    }

    @Test(
        "the multivariant playlist states the frame rate of the publisher, from the first part on",
        arguments: [12, 24, 25, 30_000.0 / 1_001, 30, 50, 60])
    func frameRate(rate: Double) throws {
        var run = try Self.live()
        run.frameRate = rate
        for duration in [1, 5, 7] as [Int64] {
            run.run(.seconds(duration))
            let variants = try #require(run.packager.multivariantPlaylist).variants
            let stated = variants.filter { $0.resolution != nil }.map(\.framesPerSecond)
            #expect(stated == [Double?](repeating: (rate * 1_000).rounded() / 1_000, count: 2))
        }
        #expect(run.violations == [])
    }

    @Test("after lost frames, a segment ends and the next one begins with a key frame")
    func loss() throws {
        var run = try Self.live()
        run.run(.milliseconds(7_300))
        run.run(.milliseconds(300), without: ["video0"])
        run.packager.framesLost(in: "video0")
        run.run(.seconds(8 as Int64))
        #expect(run.violations == [])
        let segments = try #require(run.playlists["video0"]).segments
        #expect(segments.reduce(.zero) { $0 + $1.duration } > .seconds(13 as Int64))
        #expect(segments.allSatisfy { !$0.isDiscontinuity })
    }

    @Test("a capture clock that is set forward or back leaves valid playlists", arguments: [-7_200, -3, 3, 7_200])
    func clockStep(seconds: Int) throws {
        var run = try Self.live()
        run.run(.seconds(9 as Int64))
        run.clockError = .seconds(Int64(seconds))
        run.run(.seconds(12 as Int64))
        #expect(run.violations == [])
        let playlist = try #require(run.playlists["video0"])
        #expect(playlist.segments.count >= 8)
        #expect(playlist.segments.reduce(0) { $0 + ($1.isDiscontinuity ? 1 : 0) } <= 3)
    }

    @Test("a publisher that makes key frames each 5 s gets a longer target duration and a warning")
    func longInterval() throws {
        var run = try Self.live { $0.answersKeyFrameRequests = false }
        run.keyFrameInterval = .seconds(5 as Int64)
        run.run(.milliseconds(4_900))
        #expect(run.packager.mediaPlaylist(of: "video0") == nil, "the target duration is not known yet")
        run.run(.seconds(30 as Int64))
        #expect(run.violations == [])
        let playlist = try #require(run.playlists["video0"])
        #expect(playlist.targetDuration == .seconds(5 as Int64))
        #expect(playlist.segments.allSatisfy { abs($0.duration.seconds - 5) < 0.05 })
    }

    @Test("a key frame that does not come ends the segment, and its absence is stated")
    func missingKeyFrame() throws {
        var run = try Self.live()
        run.run(.seconds(5 as Int64))
        run.keyFrameInterval = .seconds(9 as Int64)
        run.run(.seconds(20 as Int64))
        #expect(run.violations == [])
        let playlist = try #require(run.playlists["video0"])
        #expect(playlist.segments.contains { $0.isGap } && playlist.segments.contains { !$0.isGap })
    }

    @Test("a frame that lasts longer than a part is followed by a gap, and playback continues without a key frame")
    func longFrame() throws {
        var run = LiveRun([Self.large])
        run.parameterSets["video0"] = try MediaSamples.parameterSets(MediaSamples.size)
        run.run(.milliseconds(2_500))
        run.skip("video0", by: .milliseconds(350))
        run.run(.seconds(6 as Int64))
        #expect(run.violations == [])
        let segments = try #require(run.playlists["video0"]).segments
        #expect(segments.flatMap(\.parts).contains { $0.isGap })
        #expect(segments.allSatisfy { !$0.isGap && !$0.isDiscontinuity })
    }

    @Test("audio alone and video alone are packaged")
    func singleMedia() throws {
        var audio = LiveRun([Self.audio])
        audio.run(.seconds(20 as Int64))
        #expect(audio.violations == [])
        #expect(audio.packager.multivariantPlaylist?.variants.map(\.codecs) == [["opus"]])
        #expect(try #require(audio.playlists["audio0"]).segments.count >= 9)
        var video = LiveRun([Self.large])
        video.parameterSets["video0"] = try MediaSamples.parameterSets(MediaSamples.size)
        video.run(.seconds(20 as Int64))
        #expect(video.violations == [])
        #expect(video.packager.multivariantPlaylist?.variants.map(\.audio) == [nil])
    }

    @Test("24 hours keep their sequence numbers and a bounded memory")
    func day() throws {
        var run = LiveRun([Self.large]) {
            $0.segmentDuration = .seconds(6 as Int64)
            $0.partDuration = .seconds(1 as Int64)
        }
        run.parameterSets["video0"] = try MediaSamples.parameterSets(MediaSamples.size)
        run.frameRate = 4
        run.checkInterval = 2_001
        var largest = 0
        for _ in 0..<24 {
            run.run(.seconds(3_600 as Int64))
            largest = max(largest, run.packager.heldSize)
        }
        #expect(run.violations == [])
        let playlist = try #require(run.packager.mediaPlaylist(of: "video0"))
        #expect((14_350...14_400).contains(playlist.nextNumber), "\(playlist.nextNumber)")
        // 48 s of window, 21 s of segments that left it and the open one, with at most 300 bytes for a frame.
        #expect(largest < 80 * 4 * 300, "\(largest) bytes")
    }

    @Test("segments contain the frames that were encoded, also after a loss")
    func decodable() throws {
        let encoded = try MediaSamples.video(0..<180, keyFrames: [0, 60, 100, 160])
        let lost = 80..<90
        var packager = StreamPackager(PackagerConfiguration(instance: "i1"), renditions: [Self.large])
        for (number, frame) in encoded.enumerated() where !(80..<100).contains(number) || lost.upperBound <= number {
            if number == lost.upperBound { packager.framesLost(in: "video0") }
            packager.append(
                AccessUnit(
                    bytes: frame.bytes, timestamp: Int64(number) * 3_000,
                    captureTime: LiveRun.start + ClockRate.video.span(ofTicks: Int64(number) * 3_000)), to: "video0")
        }
        packager.finish()
        let decoded = try MediaSamples.decode(encoded)
        var numbers: [Int] = []
        for segment in try #require(packager.mediaPlaylist(of: "video0")).segments where !segment.isGap {
            let map = try #require(packager.file(.initialization(0), of: "video0"))
            let media = try #require(packager.file(.segment(segment.number), of: "video0"))
            let file = try DemuxedFile(map + media)
            for (frame, time) in file.frames {
                // Media time zero is 10 s before the first frame.
                let number = Int(((time.seconds - 10) * 30).rounded())
                #expect(MediaSamples.isSame(frame, decoded[number]), "frame \(number)")
                numbers.append(number)
            }
        }
        #expect(numbers == Array(0..<80) + Array(100..<180))
    }

    @Test("a rendition that is added later begins with its first packet, and a removed one is not listed any more")
    func lateRendition() throws {
        var run = try Self.live()
        run.run(.seconds(5 as Int64))
        let format = try #require(AACFormat(configuration: [0x11, 0x90], priming: 1_024))
        run.packager.add(RenditionDescription(name: "aac0", source: .aac(format), bitrate: .kilobits(128)))
        #expect(run.packager.answer(to: DeliveryDirectives(), for: "aac0") == .wait)
        #expect(run.packager.multivariantPlaylist?.variants.count == 3)
        for number: Int64 in 0..<60 {
            run.packager.append(
                AccessUnit(
                    bytes: [1, 2, 3], timestamp: 77_000 + number * 1_024,
                    captureTime: LiveRun.start + .seconds(5 as Int64) + ClockRate.opus.span(ofTicks: number * 1_024)),
                to: "aac0")
        }
        let playlist = try #require(run.packager.mediaPlaylist(of: "aac0"))
        #expect(playlist.mediaSequence == 0 && playlist.openSegment != nil)
        #expect(MediaPlaylistRules.check(playlist) == [])
        let multivariant = try #require(run.packager.multivariantPlaylist)
        #expect(multivariant.renditions(.audio, in: "aac").map(\.uri) == ["aac0.m3u8"])
        // Each of two layers with each of two codecs, and each codec alone.
        #expect(multivariant.variants.count == 6)
        run.packager.remove("aac0")
        #expect(run.packager.mediaPlaylist(of: "aac0") == nil)
        #expect(run.packager.answer(to: DeliveryDirectives(), for: "aac0") == .unknown)
        #expect(run.packager.multivariantPlaylist?.variants.count == 3)
    }

    @Test("the parts of a segment together are the segment")
    func parts() throws {
        var run = try Self.live()
        run.run(.seconds(7 as Int64))
        let segment = try #require(run.playlists["video0"]?.segments.last)
        #expect(segment.parts.count >= 9)
        let parts = try segment.parts.flatMap { try #require(run.bytes($0.uri, "video0")) }
        let uri = try #require(segment.uri)
        #expect(run.bytes(uri, "video0") == parts)
        #expect(run.bytes("video0/i1-9999.m4s", "video0") == nil)
        #expect(run.bytes("video0/i2-0.m4s", "video0") == nil)
        #expect(run.bytes("video0/i1-00.m4s", "video0") == nil)
    }

    @Test(
        "units before the next timestamp complete no part and need no key frame, and most units are before it",
        arguments: [15.0, 24, 25, 30, 60])
    func nextTimestamp(frameRate: Double) throws {
        let sets = try MediaSamples.parameterSets(MediaSamples.size)
        var packager = StreamPackager(PackagerConfiguration(instance: "i1"), renditions: [Self.large, Self.audio])
        let (video, audio) = (Self.large.name, Self.audio.name)
        var times = [video: TimeSpan.zero, audio: .zero]
        var needsKeyFrame = true
        var (count, urgentCount) = (0, 0)
        while let videoTime = times[video], let audioTime = times[audio], videoTime < .seconds(30 as Int64) {
            let isVideo = videoTime <= audioTime
            let (name, time) = isVideo ? (video, videoTime) : (audio, audioTime)
            times[name] = time + (isVideo ? TimeSpan(seconds: 1 / frameRate) : .milliseconds(20))
            let bytes =
                isVideo
                ? MediaSamples.unit(isKeyFrame: needsKeyFrame, parameterSets: sets, number: count)
                : [UInt8](repeating: 1, count: 80)
            if isVideo { needsKeyFrame = false }
            let rate = isVideo ? ClockRate.video : .opus
            let timestamp = rate.ticks(in: time)
            let isUrgent = packager.nextTimestamp(of: name).map { timestamp >= $0 } ?? true
            packager.append(
                AccessUnit(bytes: bytes, timestamp: timestamp, captureTime: LiveRun.start + time), to: name)
            let updates = packager.takeUpdates()
            if !updates.needsKeyFrame.isEmpty { needsKeyFrame = true }
            #expect(
                isUrgent || !updates.changed.contains(name) && updates.needsKeyFrame.isEmpty, "\(name) at \(time)")
            count += 1
            if isUrgent { urgentCount += 1 }
        }
        #expect(urgentCount * 3 < count, "\(urgentCount) of \(count)")
        #expect(packager.nextTimestamp(of: "other") == nil)
        packager.framesLost(in: video)
        #expect(packager.nextTimestamp(of: video) == nil)
    }
}
