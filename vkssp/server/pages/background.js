// What lies around the streets: coast, water and ice below them, names of streets and places above all lines.
import { ask, isOld } from "./api.js";
import { streetNames } from "./labels.js";

export class Background {
  constructor(map) {
    this._map = map;
    this._layers = [];
    this._shown = "";
    for (const [name, index] of [["basemap", 140], ["names", 444], ["places", 445]]) {
      const pane = map.createPane(name);
      pane.style.zIndex = index;
      pane.style.pointerEvents = "none";
      // Pictures only: what the page tells about places is text elsewhere.
      pane.setAttribute("aria-hidden", "true");
    }
  }

  // Write names along streets, beside those of places.
  name(streets) {
    if (typeof Canvas === "undefined") return;
    this._names = streetNames(streets, () => this._layers[1]);
    this._names.addTo(this._map);
  }

  // Show the basemap of a profile; where it cannot be loaded, the map is one of streets only.
  async show(profile) {
    // Profiles of the same extract have the same one.
    if (profile.basemap === this._shown) return;
    this._shown = profile.basemap;
    for (const layer of this._layers.splice(0)) layer.remove();
    if (!profile.basemap) return;
    try {
      const payload = await ask("basemap", `map/basemap/${encodeURIComponent(profile.name)}`);
      if (this._shown !== profile.basemap) return;
      // Classes of scripts that are no modules, since pages without a server use them, too.
      this._layers = [new Basemap(payload), new PlaceNames(payload)];
      for (const layer of this._layers) layer.addTo(this._map);
      this._names?._soon();
    } catch (error) {
      if (isOld(error)) return;
      this._shown = "";
      console.warn(`no basemap: ${error.message}`);
    }
  }

  redraw() {
    for (const layer of this._layers) layer._update();
    this._names?._soon();
  }
}
