import ArgumentParser
import PCastCore
import PCastIO

/// `pcast-bench recordings` records many streams at the same time, and compares each recording with its publisher.
struct RecordingsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recordings",
        abstract: "Record many streams at the same time, and compare each recording with its publisher.",
        discussion: """
            Each publisher sends the test pattern by RTMP: H.264 with 1280x720 and 30 frames per second, with its number \
            and that of the frame in each frame. “without audio” is the additional share of a core for a recording, compared with \
            streams that are not recorded. Then the publishers send AAC, too, and “with audio” includes the transcoding \
            to Opus and back. After its end, all segments of each recording are loaded, and each frame is compared with \
            what its publisher sent.
            """)

    @Option(help: "Number of recordings.")
    var count = 150

    @Option(help: "Seconds of each measurement.")
    var seconds = 20

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (1...1_000).contains(count), (5...600).contains(seconds) else {
            throw ValidationError("--count must be 1 to 1000, and --seconds 5 to 600.")
        }
    }

    func run() async throws {
        try Descriptors.allowMany()
        var report = Report(options)
        let plain = try await measure("not recorded", isRecorded: false, hasAudio: false, &report)
        let silent = try await measure("without audio", isRecorded: true, hasAudio: false, &report)
        let complete = try await measure("with audio", isRecorded: true, hasAudio: true, &report)
        let results = silent.verified + complete.verified
        let publishers = [silent, complete].map { measured in
            Set(measured.verified.compactMap(\.publisher)).count
        }
        let differences = complete.verified.map { $0.audioDifference ?? .infinity }
        let metrics: [(key: String, value: Double?)] = [
            ("recordings", publishers.min().map { Double($0) }),
            ("recordingShare", silent.share - plain.share),
            ("recordingShareWithAudio", complete.share + complete.audioShare),
            ("frames", Double(results.reduce(0) { $0 + $1.frames })),
            ("missingFrames", Double(results.reduce(0) { $0 + $1.missing })),
            ("wrongFrames", Double(results.reduce(0) { $0 + $1.wrong })),
            ("framesBeforeTheFirst", results.map { Double($0.late) }.max()),
            ("audioDifference", differences.max()),
        ]
        try report.finish(
            metrics,
            targets: [
                Target("recordings", .exactly(Double(count))), Target("recordingShare", .atMost(0.005)),
                Target("missingFrames", .exactly(0)), Target("wrongFrames", .exactly(0)),
                Target("framesBeforeTheFirst", .atMost(90)), Target("audioDifference", .atMost(1)),
            ])
    }

    /// The cost of a stream, and its recordings.
    private struct Measurement {
        /// The share of a core of the platform for each stream.
        let share: Double
        /// The share of a core of the processes that transcode received audio, for each stream.
        let audioShare: Double
        let verified: [RecordingVerification]
    }

    private func measure(
        _ name: String, isRecorded: Bool, hasAudio: Bool, _ report: inout Report
    ) async throws -> Measurement {
        let media = try RTMPLoadMedia.testPattern(hasAudio: hasAudio)
        let setup = try await RecordingSetup.start(isRecorded: isRecorded)
        defer { setup.stop() }
        let load = try RTMPLoad(
            count, port: setup.rtmpPort, application: "ingest", media: media, key: { _ in "" })
        let shares: (own: Double, audio: Double)
        do {
            // The processes that transcode audio start within the first seconds.
            try await Task.sleep(for: .seconds(5))
            shares = try await setup.processorShares(seconds: seconds)
        } catch {
            load.stop()
            throw error
        }
        let failures = load.failureCount
        load.stop()
        guard failures == 0 else { throw BenchFailure("\(failures) of \(count) publishers were disconnected") }
        var verified: [RecordingVerification] = []
        if isRecorded {
            for uri in try await setup.endedRecordings(count) {
                verified.append(try await RecordingVerification(uri, media, sent: load.sentCounts))
            }
        }
        let measured = Measurement(
            share: shares.own / Double(count), audioShare: shares.audio / Double(count), verified: verified)
        report.row(
            name,
            [
                "share": measured.share, "audioShare": measured.audioShare, "lateFrames": Double(load.lateCount),
                "frames": Double(verified.reduce(0) { $0 + $1.frames }),
            ])
        return measured
    }
}
