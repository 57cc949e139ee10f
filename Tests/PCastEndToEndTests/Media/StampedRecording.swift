import PCastCore
import Testing

/// The test pattern and its audio as a file, recorded from a stream of this system.
enum StampedRecording {
    /// Records the synthetic sources for about a number of seconds.
    static func make(_ name: String, seconds: Int, in workspace: TestWorkspace) async throws -> MediaFile {
        let path = workspace.path(name)
        let publisher = try workspace.pcast(
            "publish", "--listen", "127.0.0.1:0", "--video", "synthetic", "--audio", "synthetic", "--size", "640x360")
        _ = try await publisher.event("publishing")
        let viewer = try workspace.pcast("subscribe", "--record", path, "--for", "\(seconds)s")
        #expect(try await viewer.exitStatus() == 0)
        try await publisher.end()
        return MediaFile(path: path, workspace: workspace)
    }
}
