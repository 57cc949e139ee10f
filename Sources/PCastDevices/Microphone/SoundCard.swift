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
