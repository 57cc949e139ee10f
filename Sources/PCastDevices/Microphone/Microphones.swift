import CALSA
import CV4L2
import Glibc
import PCastCore

/// The ALSA microphones of this machine.
package enum Microphones {
    /// Returns every capture device: the default one, then the others in order of preference (USB, built in, virtual).
    /// It does not disturb a program that uses a device. A card that may not be opened is listed with what is publicly
    /// known; opening it reports the group to join.
    package static func enumerate() -> [SourceDevice] {
        let cards = SoundCard.all().map { card in (card: card, rank: card.rank) }.sorted { $0.rank < $1.rank }
            .map(\.card)
        let hardware = cards.flatMap { card in devices(of: card, among: cards) }
        return [standard(cards)].compactMap { $0 } + hardware
    }

    private static func devices(of card: SoundCard, among cards: [SoundCard]) -> [SourceDevice] {
        let names = try? SoundCardNames(card)
        let mixer = CaptureMixer(card: card.number)
        let cardName = names?.card ?? card.id
        return card.captureDevices.map { device in
            let isAlone = card.captureDevices.count == 1
            let name = names?.devices[device].flatMap { isAlone || $0.isEmpty ? nil : "\(cardName), \($0)" }
            let address = MicrophoneAddress(id: nil, card, device)
            return source(
                id: MicrophoneAddress.id(of: card, device: device, among: cards),
                name: name ?? (isAlone ? cardName : "\(cardName), \(device)"), cardName: cardName, card: card,
                limits: CaptureLimits.know(address.pcmName, of: card, device), mixer: mixer)
        }
    }

    private static func standard(_ cards: [SoundCard]) -> SourceDevice? {
        guard let standard = DefaultMicrophone.find() else { return nil }
        let card = cards.first { $0.number == standard.card }
        let cardName = card.map { (try? SoundCardNames($0))?.card ?? $0.id }
        return source(
            id: MicrophoneAddress.standard, name: cardName.map { "Default (\($0))" } ?? "Default",
            cardName: cardName ?? MicrophoneAddress.standard, card: card, limits: standard.limits,
            mixer: card.flatMap { CaptureMixer(card: $0.number) })
    }

    private static func source(
        id: String, name: String, cardName: String, card: SoundCard?, limits: CaptureLimits?, mixer: CaptureMixer?
    ) -> SourceDevice {
        SourceDevice(
            info: SourceDeviceInfo(id: id, name: name, mediaType: .audio, deviceType: .physical),
            identity: DeviceIdentity(
                name: cardName, vendor: card?.usb?.vendor, product: card?.usb?.product, serial: card?.usb?.serial),
            // Mono and stereo are always available. More is not known while a device is in use.
            capabilities: .audio(
                AudioCapabilities(
                    sampleRates: limits?.rates ?? [], channels: limits?.channels ?? 1...2,
                    controls: mixer?.controls ?? [], polarPatterns: mixer?.polarPatterns ?? [], canCancelEcho: true)))
    }
}

extension CaptureLimits {
    /// Returns the capabilities of a device without disturbing a program that uses it; nil if they are unknown.
    static func know(_ name: String, of card: SoundCard, _ device: Int) -> CaptureLimits? {
        if let limits = try? CaptureLimits(opening: name) { return limits }
        return text("/proc/asound/card\(card.number)/stream\(device)").flatMap(CaptureLimits.init(usbStream:))
    }

    /// Returns the text of a small file; nil if it does not exist.
    private static func text(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { buffer in
            let count = read(descriptor, buffer.baseAddress!, buffer.count)
            return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
        }
    }
}

/// The names of a microphone: a persistent identifier for configurations, and alsa-lib's name.
struct MicrophoneAddress: Hashable, CustomStringConvertible {
    /// The default device of alsa-lib's configuration.
    static let standard = "default"

    /// The requested identifier; nil for the preferred microphone.
    var id: String?
    /// The name that alsa-lib opens.
    var pcmName: String
    /// The path of the device node; nil if it is unknown.
    var node: String?

    var description: String { id.map { "microphone:\($0)" } ?? "microphone" }

    /// Whether the device exists but this process may not open it.
    var isForbidden: Bool {
        guard let node else { return false }
        let descriptor = open(node, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        if descriptor >= 0 { close(descriptor) }
        return descriptor < 0 && [EACCES, EPERM].contains(errno)
    }

    /// The group whose members may open it; nil if it is unknown.
    var group: String? {
        var status = stat()
        guard stat(node ?? "/dev/snd/timer", &status) == 0 else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4_096) { buffer in
            var group = Glibc.group()
            var found: UnsafeMutablePointer<Glibc.group>?
            guard getgrgid_r(status.st_gid, &group, buffer.baseAddress!, buffer.count, &found) == 0, found != nil else {
                return nil
            }
            return String(cString: group.gr_name)
        }
    }

    /// Finds a microphone by its identifier. An identifier of no card is passed to alsa-lib, which knows further names.
    /// Throws `DeviceError.notFound` if there is no microphone and none was named.
    init(id: String?, cards: [SoundCard] = SoundCard.all(), hasDefault: () -> Bool = DefaultMicrophone.isThere)
        throws(DeviceError)
    {
        self.id = id
        if let id {
            if let match = Self.device(named: id, among: cards) {
                self = Self(id: id, match.card, match.device)
            } else {
                pcmName = id
            }
        } else if hasDefault() {
            pcmName = Self.standard
        } else if let card = cards.min(by: { $0.rank < $1.rank }) {
            self = Self(id: nil, card, card.captureDevices[0])
        } else {
            throw .notFound("microphone", lookedIn: "/dev/snd")
        }
    }

    init(id: String?, _ card: SoundCard, _ device: Int) {
        self.id = id
        // The number is valid while the card exists. The card's ID may contain alsa-lib's syntax.
        pcmName = "hw:\(card.number),\(device)"
        node = "/dev/snd/pcmC\(card.number)D\(device)c"
    }

    // MARK: Identifiers

    /// Returns the identifier of a device. USB hardware is identified by its vendor, product and serial number, and
    /// other cards by the kernel's ID. USB devices that are otherwise equal are distinguished by their ports.
    static func id(of card: SoundCard, device: Int, among cards: [SoundCard]) -> String {
        guard let usb = card.usb else { return "CARD=\(card.id),DEV=\(device)" }
        let isAlone = cards.filter { $0.usb?.name == usb.name }.count < 2
        return "usb-\(usb.name)\(isAlone ? "" : "@" + usb.port),DEV=\(device)"
    }

    /// Returns the device with an identifier; nil if there is none. An identifier without a port refers to the first of
    /// several equal devices.
    static func device(named id: String, among cards: [SoundCard]) -> (card: SoundCard, device: Int)? {
        for alternatives in [cards, []] {
            for card in cards {
                for device in card.captureDevices where Self.id(of: card, device: device, among: alternatives) == id {
                    return (card, device)
                }
            }
        }
        return nil
    }
}

/// The device that alsa-lib's configuration calls "default", if it is hardware or a audio server. Without either, the
/// name may exist without a device.
struct DefaultMicrophone {
    /// The number of the card; nil for a audio server.
    var card: Int?
    /// The capabilities of the hardware; nil if another program uses it.
    var limits: CaptureLimits?

    static func find() -> DefaultMicrophone? {
        calsa_silence()
        var pcm: OpaquePointer?
        let result = snd_pcm_open(&pcm, MicrophoneAddress.standard, SND_PCM_STREAM_CAPTURE, Int32(SND_PCM_NONBLOCK))
        if result == -EBUSY || result == -EAGAIN { return DefaultMicrophone() }
        guard result >= 0, let pcm else { return nil }
        defer { snd_pcm_close(pcm) }
        var info: OpaquePointer?
        guard snd_pcm_info_malloc(&info) >= 0 else { return nil }
        defer { snd_pcm_info_free(info) }
        let card = snd_pcm_info(pcm, info) >= 0 ? Int(snd_pcm_info_get_card(info)) : -1
        guard card >= 0 || snd_pcm_type(pcm) == SND_PCM_TYPE_IOPLUG else { return nil }
        return DefaultMicrophone(card: card >= 0 ? card : nil, limits: CaptureLimits(pcm))
    }

    static func isThere() -> Bool { find() != nil }
}
