import Foundation
import NIOCore
import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastHLS
import PCastIO
import PCastRecording
import PCastSFU
import Testing

@testable import PCastPlatform

@Suite("Streams are recorded and played on demand") struct RecordingTests {
    private static let path = "/on-demand/\(PackagedRun.id)"

    /// Returns the media playlists of a recording by their URIs, after checking all rules.
    private static func playlists(of recorded: RecordedStream) throws -> [String: MediaPlaylist] {
        let multivariant = try #require(recorded.presentation.multivariantPlaylist)
        let uris = Set(multivariant.variants.map(\.uri) + multivariant.renditions.compactMap(\.uri))
        var media: [String: MediaPlaylist] = [:]
        for uri in uris {
            let name = String(uri.dropLast(".m3u8".count))
            let playlist: MediaPlaylist = try #require(recorded.presentation.mediaPlaylist(name))
            media[uri] = playlist
        }
        #expect(PresentationRules.check(multivariant, media: media) == [])
        return media
    }

    @Test("a stream with the capability is recorded from its beginning to its end, with AAC, byte for byte")
    func recorded() async throws {
        try await RecordingSetup.run { setup in
            let run = try await setup.record(500)
            let recorded = try #require(try await setup.service.recording(of: PackagedRun.id))
            let media = try Self.playlists(of: recorded)
            #expect(media.keys.sorted() == ["vod-aac.m3u8", "vod-opus.m3u8", "vod-video0.m3u8"])
            for (uri, playlist) in media {
                #expect(playlist.kind == .onDemand && playlist.isComplete)
                let duration = playlist.segments.reduce(TimeSpan.zero) { $0 + $1.duration }
                #expect((9.6...10.4).contains(duration.seconds), "\(uri): \(duration)")
                for segment in playlist.segments where !segment.isGap {
                    let map = try #require(segment.initialization?.uri)
                    for name in [map, try #require(segment.uri)] {
                        let fields = name.split(separator: "/").map { String($0) }
                        let file = try #require(recorded.presentation.file(fields[1], of: fields[0]), "\(name)")
                        let live = run.stream.availableFile(fields[1], of: fields[0], at: MonotonicClock.now())
                        #expect(try await recorded.read(file) == live, "\(name)")
                    }
                }
            }
            let record = try #require(try await setup.records.recording(of: PackagedRun.id))
            #expect(record.ended != nil && record.failure == nil && record.size > 10_000)
            let notifications = try await setup.records.notifications(of: TestPlatform.application.id, limit: 10)
            #expect(notifications.map(\.kind).contains(.onDemand))
        }
    }

    @Test("with on-demand-lite, only the highest layer of the video is recorded")
    func highestLayer() async throws {
        try await RecordingSetup.run { setup in
            let stream = RecordingSetup.stream(["on-demand-lite"])
            #expect(await setup.service.begin(stream, instance: "i1"))
            var run = try PackagedRun(
                layers: 3, recorder: setup.service, recordedLayers: RecordingService.layers(of: stream))
            _ = try run.send(500)
            run.stream.finish(at: MonotonicClock.now())
            setup.service.finish(stream.id)
            await setup.flush()
            let recorded = try #require(try await setup.service.recording(of: PackagedRun.id))
            let playlists = try Self.playlists(of: recorded)
            #expect(playlists.keys.contains("vod-video2.m3u8") && playlists.count == 3, "video, Opus and AAC")
            let names = try FileManager.default.contentsOfDirectory(
                atPath: "\(setup.folder)/recordings/\(PackagedRun.id)")
            #expect(!names.contains { $0.hasPrefix("video0") || $0.hasPrefix("video1") }, "they need no space")
        }
    }

    @Test("a stream without the capability, or without a data directory, is not recorded")
    func notRequested() async throws {
        try await RecordingSetup.run { setup in
            #expect(await !setup.service.begin(RecordingSetup.stream(["streaming"]), instance: "i1"))
            #expect(try await setup.service.recording(of: PackagedRun.id) == nil)
            let without = try RecordingService(
                RecordingConfiguration(), dataDirectory: nil, records: setup.records, writeQueue: setup.writeQueue,
                logger: RecordingSetup.logger)
            #expect(await !without.begin(RecordingSetup.stream(), instance: "i1"))
        }
        try await RecordingSetup.run({ $0.recordsEveryStream = true }) { setup in
            #expect(await setup.service.begin(RecordingSetup.stream([]), instance: "i1"))
        }
    }

    @Test("a running recording can be watched as an event, and continues in another epoch after a restart")
    func event() async throws {
        try await RecordingSetup.run { setup in
            let stream = RecordingSetup.stream()
            #expect(await setup.service.begin(stream, instance: "i1"))
            var first = try PackagedRun(layers: 1, recorder: setup.service)
            _ = try first.send(300)
            await setup.flush()
            let running = try #require(try await setup.service.recording(of: stream.id))
            #expect(try Self.playlists(of: running).values.allSatisfy { $0.kind == .event && !$0.isComplete })
            // The platform is killed: parts after the last sync are in the files only.
            _ = try first.send(60)
            await setup.service.store?.sync()
            let next = try setup.restarted()
            await next.reconcile(interrupted: [stream.id])
            let open = try #require(try await next.recording(of: stream.id))
            #expect(!open.presentation.isComplete)
            #expect(await next.begin(stream, instance: "i2"))
            next.finish(stream.id)
            await next.stop()
            await setup.writeQueue.commit(.alive(at: MonotonicClock.wallTime(), [:]))
            let record = try #require(try await setup.records.recording(of: stream.id))
            #expect(record.epochs == 2 && record.ended != nil)
        }
    }

    @Test("a recording that a killed platform left open is complete after the next start, with its last parts")
    func reconciled() async throws {
        try await RecordingSetup.run { setup in
            let stream = RecordingSetup.stream()
            #expect(await setup.service.begin(stream, instance: "i1"))
            var run = try PackagedRun(layers: 1, recorder: setup.service)
            _ = try run.send(500)
            await setup.flush()
            let before = try #require(try await setup.records.contents(ofRecording: stream.id)).segments
            let next = try setup.restarted()
            await next.reconcile(interrupted: [])
            let recorded = try #require(try await next.recording(of: stream.id))
            #expect(recorded.presentation.isComplete)
            let after = try #require(try await setup.records.contents(ofRecording: stream.id)).segments
            #expect(after.count > before.count && Set(after).isSuperset(of: before))
            // A second start finds no difference.
            await next.reconcile(interrupted: [])
            #expect(try await setup.records.contents(ofRecording: stream.id)?.segments == after)
        }
    }

    @Test("a recording is deleted once, by its application, after its end, with its files")
    func deletion() async throws {
        try await RecordingSetup.run { setup in
            let stream = RecordingSetup.stream()
            let application = TestPlatform.application.id
            #expect(try await setup.service.delete(stream.id, of: application) == .unknown)
            _ = try await setup.record(200)
            let folder = setup.folder + "/recordings/" + PackagedRun.id.description
            #expect(FileManager.default.fileExists(atPath: folder))
            #expect(try await setup.service.delete(stream.id, of: TestPlatform.otherApplication.id) == .unknown)
            #expect(try await setup.service.delete(stream.id, of: application) == .deleted)
            #expect(!FileManager.default.fileExists(atPath: folder))
            #expect(try await setup.service.recording(of: stream.id) == nil)
            #expect(try await setup.service.delete(stream.id, of: application) == .alreadyDeleted)
            #expect(await !setup.service.begin(stream, instance: "i2"))
        }
        try await RecordingSetup.run { setup async throws in
            #expect(await setup.service.begin(RecordingSetup.stream(), instance: "i1"))
            await setup.flush()
            #expect(
                try await setup.service.delete(PackagedRun.id, of: TestPlatform.application.id) == .notEnded)
        }
    }

    @Test("retention deletes recordings by age and by size", arguments: [true, false])
    func retention(byAge: Bool) async throws {
        try await RecordingSetup.run({ configuration in
            if byAge { configuration.retention = .zero } else { configuration.maximumSize = 1_000 }
        }) { setup in
            _ = try await setup.record(200)
            // The time of the end has passed.
            #expect(
                try await eventually {
                    await setup.service.applyRetention()
                    return try await setup.service.recording(of: PackagedRun.id) == nil
                })
            let files = try FileManager.default.contentsOfDirectory(atPath: setup.folder + "/recordings")
            #expect(files == [])
        }
    }

    @Test("a viewer with a token plays a recording, and everything below its signature without a token")
    func playback() async throws {
        try await RecordingSetup.run { setup in
            _ = try await setup.record(500)
            try await setup.serve { send in
                let address = Self.path + "/vod.m3u8"
                #expect(try await send(address, [:]).status == 401)
                let other = try Tokens.make { $0.forStreamingOnly().forOriginStream("another") }
                #expect(try await send(address, ["Authorization": "Bearer \(other)"]).status == 401)
                let foreign = try Tokens.make(TestPlatform.otherApplication) { $0.forStreamingOnly() }
                #expect(try await send(address, ["Authorization": "Bearer \(foreign)"]).status == 404)
                let token = ["Authorization": "Bearer \(try VideoServer.token())"]
                let missing = try await send("/on-demand/none/vod.m3u8", ["Authorization": "Bearer \(foreign)"])
                #expect(missing.status == 404)
                let index = try await send(address, token)
                #expect(index.status == 200 && index.header("Cache-Control") == "no-store")
                let list = try MultivariantPlaylist(index.text)
                for uri in Set(list.variants.map(\.uri)) {
                    let response = try await send("\(Self.path)/\(uri)", [:])
                    #expect(response.status == 200, "\(uri)")
                    #expect(response.header("Content-Type") == "application/vnd.apple.mpegurl")
                    let playlist = try MediaPlaylist(response.text)
                    let signed = "\(Self.path)/\(uri.split(separator: "/")[0])"
                    for file in playlist.segments.flatMap({ [$0.uri, $0.initialization?.uri] }).compactMap({ $0 }) {
                        let whole = try await send("\(signed)/\(file)", [:])
                        #expect(whole.status == 200 && whole.body.readableBytes > 100, "\(file)")
                        let part = try await send("\(signed)/\(file)", ["Range": "bytes=10-19"])
                        #expect(part.status == 206)
                        let expected = whole.body.readableBytesView.dropFirst(10).prefix(10)
                        #expect(part.body.readableBytesView.elementsEqual(expected))
                    }
                    #expect(try await send("\(signed)/video0/i1-999.m4s", [:]).status == 404)
                    #expect(try await send("\(signed)/vod-none.m3u8", [:]).status == 404)
                }
                #expect(try await send("\(Self.path)/1-00/vod.m3u8", [:]).status == 404)
                #expect(
                    try await setup.service.delete(PackagedRun.id, of: TestPlatform.application.id) == .deleted)
                #expect(try await send(address, token).status == 404)
            }
        }
    }

    @Test("addresses survive a restart of the platform, and not the end of its application's secret")
    func signatures() async throws {
        try await RecordingSetup.run { setup in
            _ = try await setup.record(200)
            let now = MonotonicClock.wallTime()
            let signature = try #require(try await setup.service.recording(of: PackagedRun.id)).signature(at: now)
            let next = try setup.restarted()
            #expect(try await next.recording(of: PackagedRun.id)?.check(signature, at: now) == .valid)
            await next.revokeAccess(to: [TestPlatform.application.id])
            #expect(try await next.recording(of: PackagedRun.id)?.check(signature, at: now) == .invalid)
        }
    }
}
