import ArgumentParser
import PCast
import PCastJSON

/// The command `pcast devices`.
struct DevicesCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "List the cameras, microphones and other sources of this host, best first.",
        discussion: """
            Use the IDs with “pcast publish”: --video camera:ID, --audio microphone:ID or --video screen:ID. The sources \
            “synthetic” and “null” have no ID. Properties that hardware does not report, such as the facing mode of a \
            camera, are set in ~/.config/pcast/devices.yaml (see configs/devices.yaml).

            Examples:
              pcast devices --media video --capabilities
              pcast devices --watch --json
            """)

    /// The selection of devices and details.
    struct Selection: ParsableArguments {
        @Option(help: "List only video sources or only audio sources.")
        var media: DeviceMediaArgument?

        @Flag(help: "Include formats, sizes, frame rates and controls, and the video encoders.")
        var capabilities = false

        @Flag(help: "Keep running, and report devices that are connected and disconnected. Stop with Ctrl-C.")
        var watch = false
    }

    @OptionGroup(title: "Selection") var selection: Selection

    @OptionGroup(title: "Output") var output: OutputOptions

    private var media: DeviceMediaArgument? { selection.media }
    private var capabilities: Bool { selection.capabilities }
    private var watch: Bool { selection.watch }

    func run() async throws {
        let console = Console(output)
        let types = [MediaType.video, .audio].filter { media == nil || (media == .video) == ($0 == .video) }
        do {
            try await list(types, console)
        } catch let error as PCastError {
            throw CommandFailure(error)
        }
    }

    private func list(_ types: [MediaType], _ console: Console) async throws {
        let pcast = PCast()
        // Changes are observed before the devices are listed, so that a change in between is reported twice and not
        // lost.
        var changes: [AsyncStream<SourceDeviceChange>] = []
        if watch { for type in types { changes.append(try await pcast.sourceDeviceChanges(type)) } }
        for type in types {
            for device in try await pcast.sourceDevices(type) { report(device, console) }
        }
        if capabilities, types.contains(.video) { report(await pcast.videoEncoders(measured: true), console) }
        guard watch else { return }
        let end = RunEnd()
        let interruption = InterruptHandler { end.end(.interrupted) }
        defer { withExtendedLifetime(interruption) {} }
        console.inform("Watching for connected and disconnected devices. Press Ctrl-C to stop.")
        await withTaskGroup { group in
            for stream in changes {
                group.addTask { for await change in stream { report(change, console) } }
            }
            _ = await end.wait()
            group.cancelAll()
        }
    }

    private func report(_ device: SourceDevice, _ console: Console) {
        console.event(
            "device", capabilities ? DeviceFields.capabilities(device) : DeviceFields.fields(device.info))
        console.result(DeviceText.line(device.info))
        guard capabilities else { return }
        for line in DeviceText.capabilities(device) { console.result(line) }
    }

    private func report(_ change: SourceDeviceChange, _ console: Console) {
        switch change {
        case .arrived(let device):
            console.event("arrived", DeviceFields.fields(device))
            console.result("+ \(DeviceText.line(device))")
        case .departed(let device):
            console.event("departed", DeviceFields.fields(device))
            console.result("- \(DeviceText.line(device))")
        }
    }

    private func report(_ encoders: [VideoEncoderInfo], _ console: Console) {
        for encoder in encoders {
            console.event(
                "encoder",
                [
                    "name": .string(encoder.name), "codec": .string(encoder.codec.rawValue),
                    "hardware": .boolean(encoder.isHardware), "usable": .boolean(encoder.isUsable),
                    "reason": .text(encoder.reason), "realTime": .text(encoder.realTimeDimensions.map { "\($0)" }),
                    "speeds": .array(encoder.speeds.map(DeviceFields.speed)),
                ])
            let state =
                encoder.isUsable
                ? "available" + DeviceText.speeds(encoder.speeds) : "unavailable: \(encoder.reason ?? "unknown reason")"
            console.result("encoder  \(encoder.name)  \(encoder.codec.rawValue)  \(state)")
        }
    }
}
