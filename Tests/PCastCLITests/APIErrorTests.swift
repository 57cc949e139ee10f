import ArgumentParser
import Foundation
import PCast
import PCastCore
import PCastPlatform
import PCastPlayback
import Testing

@testable import PCastCLI

/// Unusable arguments are rejected before anything starts.
struct RefusalTests {
    private func nothingSet(for command: String) throws -> Settings {
        Settings(command: command, environment: [:], file: try ConfigurationFile(text: "", path: "pcast.yaml"))
    }

    @Test("an unknown encoder is rejected with the names of those of the codec")
    func encoders() throws {
        let settings = try nothingSet(for: "publish")
        for encoder in ["automatic", "software", "libx264", "h264_vaapi"] {
            let plan = try PublishCommand.parse(["--encoder", encoder]).plan(settings)
            #expect(plan.publication.encoding.videoEncoder == VideoEncoderChoice(encoder))
        }
        #expect(throws: Never.self) {
            try PublishCommand.parse(["--encoder", "libvpx", "--codec", "vp8"]).plan(settings)
        }
        for wrong in ["libx265", "libvpx"] {
            let failure = #expect(throws: CommandFailure.self) {
                try PublishCommand.parse(["--encoder", wrong]).plan(settings)
            }
            #expect(failure?.status == .unusableArguments)
            #expect(failure?.sentence?.contains("automatic, software, libx264, h264_nvenc") == true)
        }
    }

    @Test("the codec of a stream is that of frames that are passed through, and H.265 is not encoded")
    func codecs() throws {
        let settings = try nothingSet(for: "publish")
        for codec in [Codec.h264, .vp8, .vp9, .av1, .h265] {
            let plan = try PublishCommand.parse(["--codec", codec.rawValue.lowercased()]).plan(settings)
            #expect(plan.publication.encoding.videoCodec == codec && plan.passesThrough)
        }
        let failure = #expect(throws: CommandFailure.self) {
            try PublishCommand.parse(["--codec", "h265", "--reencode"]).plan(settings)
        }
        #expect(failure?.status == .unusableArguments && failure?.sentence?.contains("--reencode") == true)
    }

    @Test("a recording with an unknown file extension is rejected")
    func recordings() throws {
        let settings = try nothingSet(for: "subscribe")
        for file in ["a.mp4", "a.MKV", "a.webm"] {
            #expect(try SubscribeCommand.parse(["--record", file]).plan(settings).recording == file)
        }
        let failure = #expect(throws: CommandFailure.self) {
            try SubscribeCommand.parse(["--record", "rec.avi"]).plan(settings)
        }
        #expect(failure?.status == .unusableArguments)
        #expect(failure?.sentence?.contains(".mp4, .mkv, .webm") == true)
    }

    @Test("the first frame's time is a valid time, needs a timeline, and is that of the first item")
    func timelineStart() throws {
        let start = ["--timeline-start", "2026-01-31T12:00:00.000Z"]
        let play = try PlayCommand.parse(["a.mp4", "b.mp4", "--timeline", "NHL/1"] + start)
        let time = try #require(play.timeline.start)
        let plan = PlayPlan(
            addresses: play.uri, cuePoints: [], render: .null, speed: 1, isLooping: false, isMuted: false,
            timelineStart: time)
        #expect(plan.videos.map { $0.sources.first?.wallClock?.wallTime } == [time, nil])
        #expect(plan.videos.first?.sources.first?.wallClock?.position == .zero)
        for (wrong, word) in [
            (start, "require --timeline"),
            (["--timeline", "NHL/1", "--timeline-start", "noon"], "noon: the time is written"),
        ] {
            let failure = #expect(throws: (any Error).self) { try PlayCommand.parse(["a.mp4"] + wrong) }
            #expect(failure.map { PlayCommand.message(for: $0) }?.contains(word) == true)
        }
    }

    @Test("the language of the audio is a tag")
    func audioLanguage() throws {
        #expect(try PlayCommand.parse(["a.m3u8", "--audio-language", "pt-BR"]).playback.audioLanguage == "pt-BR")
        let failure = #expect(throws: (any Error).self) {
            try PlayCommand.parse(["a.m3u8", "--audio-language", "not a language"])
        }
        #expect(failure.map { PlayCommand.message(for: $0) }?.contains("--audio-language not a language") == true)
    }

    @Test("an overlay is a program's name, or an existing folder with a page")
    func overlays() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(try PlayOverlay.folder("final") == nil)
        for wrong in [folder.path, folder.path + "/nowhere"] {
            let failure = #expect(throws: CommandFailure.self) { try PlayOverlay.folder(wrong) }
            #expect(failure?.status == .unusableArguments)
            #expect(failure?.sentence?.contains("index.html") == true)
        }
        try Data().write(to: folder.appendingPathComponent("index.html"))
        #expect(try PlayOverlay.folder(folder.path) == folder.path)
    }

    @Test("a missing folder of files is rejected")
    func files() throws {
        let settings = try nothingSet(for: "serve")
        let folder = FileManager.default.temporaryDirectory.path
        #expect(try WorkerOptions.parse(["--media-directory", folder]).configuration(settings)?.directory == folder)
        let failure = #expect(throws: CommandFailure.self) {
            try WorkerOptions.parse(["--media-directory", folder + "/\(UUID().uuidString)"]).configuration(settings)
        }
        #expect(failure?.status == .unusableArguments)
        #expect(failure?.sentence?.contains("--media-directory") == true)
    }

    @Test("for another's platform the error names the missing token; without a platform, everything")
    func platforms() {
        #expect(RemoteRun.missing(at: "https://platform.example") == .needsToken)
        #expect(RemoteRun.missing(at: "http://127.0.0.1:1").status == .notAuthorized)
        #expect(RemoteRun.missing(at: "nonsense").status == .unusableArguments)
        let nothing = RemoteRun.missing(at: nil)
        #expect(nothing.status == .nothingToPlay && nothing.sentence?.contains("--uri and --token") == true)
    }

    @Test("an unknown event is reported like a mistyped name")
    func events() {
        let sentence = TimelineProducer.unknown("goal-1").sentence
        #expect(sentence?.contains("“goal-1”") == true && sentence?.contains("pcast timeline add") == true)
        #expect(sentence?.contains("POST") == false)
    }
}
