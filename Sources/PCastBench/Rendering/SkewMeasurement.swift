import Foundation
import PCastCore

/// Measures the synchronization of audio and video of `pcast play` in a window. It captures from a virtual X server and
/// from an audio server with a null sink.
enum SkewMeasurement {
    /// Plays a film with one flash and one tone in each second. Returns the delay of each flash relative to its tone in
    /// milliseconds; nil for a flash without a tone. Throws `BenchFailure` if a program is missing.
    static func run(seconds: Int) async throws -> [Double?] {
        let film = "/dev/shm/pcast-bench-clapper-\(getpid()).mp4"
        defer { unlink(film) }
        try make(film, seconds: seconds)
        let display = try MemoryDisplay(size: "1280x720")
        defer { display.end() }
        let server = try MemoryAudioServer()
        defer { server.end() }
        let recorder = try ClapperCapture(display: display.name, audioServer: server.address)
        defer { recorder.stop() }
        await recorder.waitForAudio()
        let player = try PCastProcess(
            ["play", film, "--render", "window"],
            environment: [
                "DISPLAY": display.name, "PULSE_SERVER": server.address, "XDG_RUNTIME_DIR": "/tmp",
                "SDL_VIDEODRIVER": "x11",
            ])
        _ = try await player.next("ended", within: .seconds(seconds + 20))
        return recorder.skews.map { skew in skew.map { $0.seconds * 1_000 } }
    }

    private static func make(_ path: String, seconds: Int) throws {
        let flash = "drawbox=x=0:y=0:w=iw:h=ih:color=white:t=fill:enable='lt(mod(t-0.5+1\\,1)\\,0.1)'"
        let beep =
            "aevalsrc='if(lt(mod(t-0.5+1\\,1)\\,0.1)\\,0.5*sin(2*PI*1000*mod(t-0.5+1\\,1))\\,0)':s=48000:d=\(seconds)"
        _ = try ChildCost.run(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
                "color=c=black:s=1280x720:r=60:d=\(seconds),\(flash)", "-f", "lavfi", "-i", beep, "-c:v", "libx264",
                "-preset", "veryfast", "-pix_fmt", "yuv420p", "-c:a", "aac", path,
            ])
    }
}
