import Glibc

/// What a microphone is called: by people and configurations, in a way that outlives a restart, and by alsa-lib.
struct MicrophoneAddress: Hashable, CustomStringConvertible {
    /// The user's own choice, in alsa-lib's configuration.
    static let standard = "default"

    /// As it is asked for; nil for the best there is.
    var id: String?
    /// What alsa-lib opens.
    var pcmName: String
    /// The file behind it; nil when that is not known.
    var node: String?

    var description: String { id.map { "microphone:\($0)" } ?? "microphone" }

    /// Whether it is there and this process may not open it.
    var isForbidden: Bool {
        guard let node else { return false }
        let descriptor = open(node, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        if descriptor >= 0 { close(descriptor) }
        return descriptor < 0 && [EACCES, EPERM].contains(errno)
    }

    /// The group whose members may open it.
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

    /// Looks an identifier up; one that no card has is left to alsa-lib, which knows names of its own.
    ///
    /// - Throws: `.notFound` when the best is asked for and there is none.
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
        // By the number, which holds for as long as the card is there; identifiers may hold what alsa-lib reads as syntax.
        pcmName = "hw:\(card.number),\(device)"
        node = "/dev/snd/pcmC\(card.number)D\(device)c"
    }

    // MARK: Identifiers

    /// What a device is known by: hardware on USB by what it says of itself, wherever it is plugged in, and other cards by
    /// the identifier that the kernel makes of their name. Two USB devices alike that have no serial number are told apart
    /// by where they are plugged in.
    static func id(of card: SoundCard, device: Int, among cards: [SoundCard]) -> String {
        guard let usb = card.usb else { return "CARD=\(card.id),DEV=\(device)" }
        let isAlone = cards.filter { $0.usb?.name == usb.name }.count < 2
        return "usb-\(usb.name)\(isAlone ? "" : "@" + usb.port),DEV=\(device)"
    }

    /// The device that an identifier names. One that was given while there were no two alike names the first of them.
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
