import ArgumentParser
import PCast
import PCastEdgeAuth

/// `pcast devices`
struct DevicesCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "List the sources of this computer, the best first.",
        discussion: "What is listed can be given to “pcast publish” as --video or --audio.")

    @Option(help: "Only sources of pictures, or only of sound.")
    var media: DeviceMediaArgument?

    @Flag(help: "Tell the sizes and rates of each; refused, as this version knows no hardware.")
    var capabilities = false

    @Flag(help: "Go on and tell what comes and goes; refused, as this version knows no hardware.")
    var watch = false

    @OptionGroup var output: OutputOptions

    func run() async throws {
        guard !capabilities, !watch else {
            throw CommandFailure(
                .unusableArguments, "This version lists no hardware: leave --capabilities and --watch away.")
        }
        let console = Console(output)
        let pcast = PCast()
        for type in [MediaType.video, .audio] where media == nil || (media == .video) == (type == .video) {
            for device in await pcast.enumerateSourceDevices(type) { tell(device, console) }
        }
    }

    private func tell(_ device: SourceDeviceInfo, _ console: Console) {
        let medium = device.mediaType == .video ? "video" : "audio"
        console.event(
            "device",
            [
                "id": .string(device.id), "name": .string(device.name), "media": .string(medium),
                "type": .string(device.deviceType.rawValue), "facingMode": .string(device.facingMode.rawValue),
            ])
        console.result("\(medium)  \(device.id)  \(device.name)")
    }
}
