import { use, init } from 'echarts/core.js';
import { LineChart, BarChart } from 'echarts/charts.js';
import { GridComponent, TooltipComponent, MarkLineComponent } from 'echarts/components.js';
import { SVGRenderer } from 'echarts/renderers.js';
use([LineChart, BarChart, GridComponent, TooltipComponent, MarkLineComponent, SVGRenderer]);
export { init };
