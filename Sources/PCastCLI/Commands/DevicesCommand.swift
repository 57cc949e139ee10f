import ArgumentParser
import PCast
import PCastJSON

/// The command `pcast devices`.
struct DevicesCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "List the cameras, microphones and other sources of this computer, the best first.",
        discussion: """
            What is listed can be given to “pcast publish”: a camera as --video camera:ID, a microphone as \
            --audio microphone:ID, a screen as --video screen:ID, and “synthetic” and “null” as they are. What hardware \
            cannot tell of itself, such as where a camera looks, can be written into ~/.config/pcast/devices.json5 \
            (configs/devices.json5 explains it).
            """)

    @Option(help: "Only sources of pictures, or only of sound.")
    var media: DeviceMediaArgument?

    @Flag(help: "Tell the formats, sizes, rates and controls of each, and the video encoders.")
    var capabilities = false

    @Flag(help: "Go on and tell what comes and goes, until Ctrl-C.")
    var watch = false

    @OptionGroup var output: OutputOptions

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
            for device in try await pcast.sourceDevices(type) { tell(device, console) }
        }
        if capabilities, types.contains(.video) { tell(await pcast.videoEncoders(), console) }
        guard watch else { return }
        console.say("Watching for devices that come and go. Ctrl-C ends it.")
        let end = RunEnd()
        let interruption = Interruption { end.end(.interrupted) }
        defer { withExtendedLifetime(interruption) {} }
        await withTaskGroup { group in
            for stream in changes {
                group.addTask { for await change in stream { tell(change, console) } }
            }
            _ = await end.wait()
            group.cancelAll()
        }
    }

    private func tell(_ device: SourceDevice, _ console: Console) {
        console.event(
            "device", capabilities ? DeviceFields.capabilities(device) : DeviceFields.fields(device.info))
        console.result(DeviceText.line(device.info))
        guard capabilities else { return }
        for line in DeviceText.capabilities(device) { console.result(line) }
    }

    private func tell(_ change: SourceDeviceChange, _ console: Console) {
        switch change {
        case .arrived(let device):
            console.event("arrived", DeviceFields.fields(device))
            console.result("+ \(DeviceText.line(device))")
        case .departed(let device):
            console.event("departed", DeviceFields.fields(device))
            console.result("- \(DeviceText.line(device))")
        }
    }

    private func tell(_ encoders: [VideoEncoderInfo], _ console: Console) {
        for encoder in encoders {
            console.event(
                "encoder",
                [
                    "name": .string(encoder.name), "codec": .string(encoder.codec.rawValue),
                    "hardware": .boolean(encoder.isHardware), "usable": .boolean(encoder.isUsable),
                    "reason": .text(encoder.reason),
                ])
            let state = encoder.isUsable ? "usable" : "not usable: \(encoder.reason ?? "nobody knows why")"
            console.result("encoder  \(encoder.name)  \(encoder.codec.rawValue)  \(state)")
        }
    }
}
