import CALSA

/// A sound card from sysfs, which every user may read.
struct SoundCard: Hashable {
    /// The identity of USB hardware.
    struct USB: Hashable {
        /// Vendor, product and serial number as udev writes them.
        var name: String
        /// The vendor ID and the product ID, four hexadecimal digits each.
        var vendor: String
        var product: String
        var serial: String?
        /// The port, such as `1-2.4`.
        var port: String
    }

    /// The kernel's number, which can change at a restart.
    var number: Int
    /// The kernel's ID, such as `Loopback`, which is derived from the card's name and persists.
    var id: String
    var usb: USB?
    /// The numbers of its capture devices, ascending.
    var captureDevices: [Int]

    /// Returns every card with capture devices, by number. `root` is the mount point of sysfs.
    static func all(root: String = "/sys") -> [SoundCard] {
        let names = SysfsDevice.names(subsystem: "sound", root: root)
        return names.compactMap { name in
            guard name.hasPrefix("card"), let number = Int(name.dropFirst(4)),
                let device = SysfsDevice(subsystem: "sound", name: name, root: root),
                let id = device.attribute("id"), !id.isEmpty
            else { return nil }
            let captures = captureDevices(of: number, in: names)
            return captures.isEmpty
                ? nil : SoundCard(number: number, id: id, usb: usb(device), captureDevices: captures)
        }
        .sorted { $0.number < $1.number }
    }

    /// Returns the capture devices of a card. `pcmC0D1c` is capture device 1 of card 0.
    private static func captureDevices(of number: Int, in names: [String]) -> [Int] {
        let prefix = "pcmC\(number)D"
        return names.compactMap { name in
            name.hasPrefix(prefix) && name.hasSuffix("c") ? Int(name.dropFirst(prefix.count).dropLast()) : nil
        }
        .sorted()
    }

    private static func usb(_ card: SysfsDevice) -> USB? {
        guard let hardware = card.ancestor(subsystem: "usb", type: "usb_device"), let name = card.usbName?.name,
            let vendor = hardware.attribute("idVendor"), let product = hardware.attribute("idProduct")
        else { return nil }
        return USB(
            name: name, vendor: vendor, product: product, serial: hardware.attribute("serial"), port: hardware.name)
    }
}

/// The driver's names of a card and its devices. Only users who may open the card can read them.
struct SoundCardNames {
    /// The driver, such as `USB-Audio` or `Loopback`.
    var driver: String
    /// The name of the card for display.
    var card: String
    /// The names of the capture devices, by number.
    var devices: [Int: String] = [:]

    /// Reads the names. Throws `PCMFailure` if the card may not be opened.
    init(_ card: SoundCard) throws(PCMFailure) {
        calsa_silence()
        var control: OpaquePointer?
        try PCMFailure.check("open", snd_ctl_open(&control, "hw:\(card.number)", Int32(SND_CTL_NONBLOCK)))
        defer { snd_ctl_close(control) }
        var info: OpaquePointer?
        try PCMFailure.check("card_info", snd_ctl_card_info_malloc(&info))
        defer { snd_ctl_card_info_free(info) }
        try PCMFailure.check("card_info", snd_ctl_card_info(control, info))
        driver = String(cString: snd_ctl_card_info_get_driver(info))
        self.card = String(cString: snd_ctl_card_info_get_name(info))
        for device in card.captureDevices { devices[device] = Self.name(of: device, control) }
    }

    private static func name(of device: Int, _ control: OpaquePointer?) -> String? {
        var info: OpaquePointer?
        guard snd_pcm_info_malloc(&info) >= 0 else { return nil }
        defer { snd_pcm_info_free(info) }
        snd_pcm_info_set_device(info, UInt32(device))
        snd_pcm_info_set_stream(info, SND_PCM_STREAM_CAPTURE)
        guard snd_ctl_pcm_info(control, info) >= 0 else { return nil }
        return String(cString: snd_pcm_info_get_name(info))
    }
}

extension SoundCard {
    /// The order of preference: USB, which was connected deliberately, then built-in hardware, then virtual cards.
    var rank: Int {
        if usb != nil { return 0 }
        let driver = (try? SoundCardNames(self))?.driver
        return driver.map { ["Loopback", "Dummy"].contains($0) } ?? false ? 2 : 1
    }
}
