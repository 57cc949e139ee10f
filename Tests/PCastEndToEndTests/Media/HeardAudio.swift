import Foundation
import PCastCore
import Testing

/// The audio that a viewer plays, in a file that its audio device writes: two channels of 16 bits at 48 kHz.
struct HeardAudio: Sendable {
    /// The length of the audio that is examined, which has a whole number of periods of each multiple of 10 Hz.
    private static let sampleCount = 9_600

    private let path: String
    private let viewer: RunningProgram

    /// Starts the viewer of a stream.
    init(of stream: String, at platform: LocalPlatform, in workspace: TestWorkspace, limit: Duration) async throws {
        path = workspace.path("heard.raw")
        let configuration = workspace.path("alsa.conf")
        try "pcm.!default { type file slave.pcm { type null } file \"\(path)\" format \"raw\" }"
            .write(toFile: configuration, atomically: true, encoding: .utf8)
        viewer = try workspace.start(
            BuiltProgram.path("PCastViewing"),
            [platform.uri, await platform.authenticationToken(), await platform.viewingToken(stream)], limit: limit,
            hears: true, variables: ["ALSA_CONFIG_PATH": configuration, "DISPLAY": "", "WAYLAND_DISPLAY": ""])
        guard await viewer.output.lines.first(where: { $0 == "status ok" }) != nil else {
            throw EndToEndFailure("the viewer does not start\n\(viewer.report)")
        }
    }

    /// Waits until the newest audio has each of the frequencies with at least the share of the power. Returns the shares of
    /// `others` in the same audio.
    @discardableResult
    func awaitTones(_ frequencies: [Double], share: Double, others: [Double] = []) async throws -> [Double] {
        var shares: [Double] = []
        try await repeating("the audio has no \(frequencies) Hz") { samples in
            shares = others.map { Self.share(of: $0, in: samples) }
            return frequencies.allSatisfy { Self.share(of: $0, in: samples) > share }
        }
        return shares
    }

    /// Waits until the newest audio is silent.
    func awaitSilence() async throws {
        try await repeating("the audio is not silent") { samples in samples.allSatisfy { abs($0) < 100 } }
    }

    func end() async throws {
        try viewer.notify("quit")
        try await viewer.expectExitStatus(0)
    }

    private func repeating(_ failure: String, until isReached: ([Double]) -> Bool) async throws {
        let deadline = ContinuousClock.now + .timeout
        while true {
            if let samples = newest(), isReached(samples) { return }
            guard viewer.isRunning, ContinuousClock.now < deadline else {
                throw EndToEndFailure("\(failure)\n\(viewer.report)")
            }
            try await ContinuousClock().sleep(for: .milliseconds(20))
        }
    }

    /// The newest samples of the left channel; nil if there are too few.
    private func newest() -> [Double]? {
        let frameSize = 4
        guard let file = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? file.close() }
        guard let end = try? file.seekToEnd() else { return nil }
        let frames = Int(end) / frameSize
        guard frames >= Self.sampleCount,
            (try? file.seek(toOffset: UInt64((frames - Self.sampleCount) * frameSize))) != nil,
            let data = try? file.read(upToCount: Self.sampleCount * frameSize),
            data.count == Self.sampleCount * frameSize
        else { return nil }
        return data.withUnsafeBytes { bytes in
            (0..<Self.sampleCount).map {
                Double(bytes.loadUnaligned(fromByteOffset: $0 * frameSize, as: Int16.self))
            }
        }
    }

    /// Returns the share of a frequency in the power: 1 for the tone alone, and 0 for silence.
    private static func share(of frequency: Double, in samples: [Double]) -> Double {
        let power = samples.reduce(0) { $0 + $1 * $1 }
        guard power > Double(samples.count) * 10_000 else { return 0 }
        var (sine, cosine) = (0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let angle = 2 * .pi * frequency * Double(index) / 48_000
            sine += sample * sin(angle)
            cosine += sample * cos(angle)
        }
        return 2 * (sine * sine + cosine * cosine) / (Double(samples.count) * power)
    }
}
