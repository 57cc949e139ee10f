import ArgumentParser
import Foundation
import PCast
import PCastJSON
import PCastPlatform

/// The command `pcast doctor`.
struct DoctorCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check whether this host can run the platform and publish, and say what to do.",
        discussion: """
            Checks the configuration of “pcast serve”, its ports, the addresses that clients receive, UDP on this host, \
            the certificate, the clock, the folders and the limits of the kernel; and the cameras, microphones and video \
            encoders for “pcast publish”. Nothing is changed, and no stream is started. If the platform is running, its \
            ports are not checked.

            Whether other hosts can reach this one is known only with --stun in the configuration. The exit status is 1 \
            if something prevents the start or all clients, otherwise 0.

            Examples:
              pcast doctor
              pcast doctor --config /etc/pcast/pcast.yaml --json
            """)

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let console = Console(output)
        let settings = try Settings(command: "serve", config: configuration.config)
        let platform = try ServeCommand.parse([]).platformConfiguration(settings)
        report("configuration", .ok, settings.filePath.map { "\($0) is valid." } ?? "There is no file.", nil, console)
        let findings = await PlatformDiagnosis(platform).run()
        for finding in findings {
            report(finding.subject.rawValue, finding.severity, finding.description, finding.remedy, console)
        }
        try await devices(console)
        guard !findings.contains(where: { $0.severity == .failure }) else { throw CommandFailure(.failed) }
    }

    /// Reports the devices and encoders for publishing. A server needs none, so that their absence is no failure.
    private func devices(_ console: Console) async throws {
        let pcast = PCast()
        for (type, name) in [(MediaType.video, "camera"), (.audio, "microphone")] {
            do {
                let found = try await pcast.sourceDevices(type).map(\.info).filter { $0.deviceType == .physical }
                guard let best = found.first else {
                    report(
                        name, .warning, "There is no \(name).",
                        "To publish from one, connect it; a user needs the groups video and audio.", console)
                    continue
                }
                let others = found.count > 1 ? ", and \(found.count - 1) more" : ""
                report(name, .ok, "\(best.name) (\(best.id))\(others).", nil, console)
            } catch {
                report(name, .warning, "\(error)", nil, console)
            }
        }
        let encoders = await pcast.videoEncoders()
        let usable = encoders.filter(\.isUsable)
        for codec in ["H264", "VP8"] where !usable.contains(where: { $0.codec.rawValue == codec }) {
            report(
                "encoder", .warning, "There is no usable encoder for \(codec).",
                "Install FFmpeg's libavcodec with libx264, and libvpx.", console)
        }
        let names = usable.map { $0.isHardware ? "\($0.name) (hardware)" : $0.name }
        guard !names.isEmpty else { return }
        report("encoder", .ok, "Video encoders: \(names.joined(separator: ", ")).", nil, console)
    }

    private func report(
        _ subject: String, _ severity: PlatformFinding.Severity, _ description: String, _ remedy: String?,
        _ console: Console
    ) {
        console.event(
            "finding",
            [
                "subject": .string(subject), "severity": .string(severity.rawValue),
                "description": .string(description), "remedy": .text(remedy),
            ])
        let column = subject.padding(toLength: 13, withPad: " ", startingAt: 0)
        let level = severity.rawValue.padding(toLength: 7, withPad: " ", startingAt: 0)
        console.result("\(level)  \(column)  \(description)" + (remedy.map { " \($0)" } ?? ""))
    }
}
